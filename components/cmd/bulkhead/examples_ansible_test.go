// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// play has the keywords of Ansible's plays that the examples use.
type play struct {
	Name           string
	Hosts          string
	Serial         int
	Become         bool
	AnyErrorsFatal bool `yaml:"any_errors_fatal"`
	Vars           map[string]string
	Tasks          []map[string]yaml.Node
}

// taskKeywords are the keywords of Ansible's tasks that the examples use.
var taskKeywords = []string{"name", "become", "changed_when", "delay", "delegate_to", "failed_when", "loop", "register",
	"retries", "until", "when"}

// modules are the modules that the examples use, with the parameters of each.
var modules = map[string][]string{
	"ansible.builtin.assert":    {"fail_msg", "that"},
	"ansible.builtin.command":   {"argv"},
	"ansible.builtin.copy":      {"dest", "group", "mode", "owner", "remote_src", "src", "validate"},
	"ansible.builtin.file":      {"group", "mode", "owner", "path", "state"},
	"ansible.builtin.stat":      {"checksum_algorithm", "path"},
	"ansible.builtin.unarchive": {"dest", "group", "owner", "src"},
}

// otherPrograms are the programs that the plays run in addition to this one.
var otherPrograms = []string{"rm"}

// settings returns the variables of group_vars that are strings or booleans.
func settings(t *testing.T) map[string]string {
	t.Helper()
	var all map[string]yaml.Node
	readExample(t, "ansible/group_vars/all.yaml", &all)
	values := map[string]string{}
	for name, node := range all {
		if node.Kind == yaml.ScalarNode {
			values[name] = node.Value
		}
	}
	return values
}

var template = regexp.MustCompile(`\{\{ (\w+) \}\}`)

// fill replaces the variables in a template.
func fill(text string, values map[string]string) (string, error) {
	var err error
	filled := template.ReplaceAllStringFunc(text, func(found string) string {
		value, known := values[template.FindStringSubmatch(found)[1]]
		if !known {
			err = fmt.Errorf("%s has no value in group_vars", found)
		}
		return value
	})
	if err == nil && strings.Contains(filled, "{{") {
		err = fmt.Errorf("this check cannot fill %q", filled)
	}
	return filled, err
}

// checkTask checks the module of a task. It returns the arguments of the program that the task runs,
// if it runs one.
func checkTask(t *testing.T, task map[string]yaml.Node, values map[string]string) (args []string) {
	t.Helper()
	used := 0
	for key, node := range task {
		if slices.Contains(taskKeywords, key) {
			continue
		}
		used++
		parameters := checkModule(t, key, node)
		args = arguments(t, parameters["argv"], values)
		if validate, ok := parameters["validate"]; ok {
			filled, err := fill(validate.Value, values)
			if runs := checkPrograms(t, filled); err != nil || len(runs) != 1 {
				t.Errorf("line %d: validate runs %q: %v", node.Line, runs, err)
			}
		}
	}
	if name := task["name"]; used != 1 || name.Value == "" {
		t.Errorf("task %q has %d modules", name.Value, used)
	}
	return args
}

// checkModule returns the parameters of a module.
func checkModule(t *testing.T, name string, node yaml.Node) (parameters map[string]yaml.Node) {
	t.Helper()
	known, ok := modules[name]
	if !ok || node.Decode(&parameters) != nil {
		t.Errorf("line %d: %s is not a module of the list", node.Line, name)
		return nil
	}
	for parameter := range parameters {
		if !slices.Contains(known, parameter) {
			t.Errorf("line %d: %s has no parameter %s", node.Line, name, parameter)
		}
	}
	return parameters
}

// arguments returns the list of a command, with the values of the variables.
func arguments(t *testing.T, argv yaml.Node, values map[string]string) (words []string) {
	t.Helper()
	if argv.Decode(&words) != nil {
		t.Errorf("line %d: argv is not a list of strings", argv.Line)
	}
	for i := range words {
		filled, err := fill(words[i], values)
		if err != nil {
			t.Errorf("line %d: %v", argv.Line, err)
		}
		words[i] = filled
	}
	return words
}

// changes are the commands of this program that change a host.
var changes = []string{"install", "uninstall"}

// runsOf checks a file of plays, and returns where and how it runs this program, in this order.
func runsOf(t *testing.T, name string) (runs []string) {
	t.Helper()
	var plays []play
	readExample(t, name, &plays)
	values := settings(t)
	for _, p := range plays {
		if !p.Become || !p.AnyErrorsFatal || p.Name == "" {
			t.Errorf("play %q: root %v, stops at the first failure %v", p.Name, p.Become, p.AnyErrorsFatal)
		}
		where := p.Hosts
		if p.Serial == 1 {
			where += ", one at a time"
		}
		for _, task := range p.Tasks {
			args := checkTask(t, task, values)
			if len(args) == 0 || slices.Contains(otherPrograms, args[0]) {
				continue
			}
			checkRun(t, args, task["changed_when"])
			runs = append(runs, where+": "+strings.Join(args[1:], " "))
		}
	}
	return runs
}

// checkRun checks a run of this program, and that the play knows when it has changed something.
func checkRun(t *testing.T, args []string, changedWhen yaml.Node) {
	t.Helper()
	if path.Base(args[0]) != "bulkhead" {
		t.Errorf("%q is not a program of the list", args[0])
		return
	}
	if err := checkProgram(args[1:]); err != nil {
		t.Errorf("%q: %v", args, err)
	}
	changing := slices.ContainsFunc(args, func(arg string) bool { return slices.Contains(changes, arg) })
	if changing != strings.Contains(changedWhen.Value, "Nothing had to be changed") {
		t.Errorf("%q: changed_when is %q", args, changedWhen.Value)
	}
}

// The order is that of docs/install.md.
func TestAnsiblePlaysRunValidCommandsInOrder(t *testing.T) {
	const config = "--config=/etc/kubernetes/bulkhead.yaml"
	for name, want := range map[string][]string{
		"ansible/install.yaml": {
			"control_plane: preflight " + config,
			"control_plane, one at a time: install " + config,
			"control_plane:workers, one at a time: node install --loopback-clients=cluster",
			"control_plane, one at a time: install " + config,
		},
		"ansible/uninstall.yaml": {
			"control_plane, one at a time: uninstall",
			"control_plane:workers, one at a time: node uninstall",
			"control_plane[0]: uninstall",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(want, runsOf(t, name)); diff != "" {
				t.Errorf("(-want +runs)\n%s", diff)
			}
		})
	}
}

func TestAnsibleInstallationIsValid(t *testing.T) {
	if image := checkInstallation(t, textOf(t, examples+"/ansible/bulkhead.yaml")).Image; image == "" {
		t.Error("it has no image, and the default exists only for a release")
	}
}

// The plays depend on these texts of the program.
func TestAnsiblePlaysKnowTheOutputOfTheProgram(t *testing.T) {
	plays := textOf(t, examples+"/ansible/*.yaml")
	for text, packages := range map[string][]string{
		"Nothing had to be changed":                                   {"controlplane", "node"},
		"kube-apiserver accepts any serving certificate of a kubelet": {"controlplane"},
		"kubelet-auth-proxy serves the kubelets of":                   {"controlplane"},
	} {
		if !strings.Contains(plays, text) {
			t.Errorf("no play has %q", text)
		}
		for _, name := range packages {
			if !strings.Contains(textOf(t, "../../install/"+name+"/*[^t].go"), text) {
				t.Errorf("package %s does not print %q", name, text)
			}
		}
	}
}

// textOf returns the text of all files that match.
func textOf(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v", pattern, err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// The inventory has the groups of the plays.
func TestAnsibleInventoryHasTheGroupsOfThePlays(t *testing.T) {
	type hosts struct {
		Hosts map[string]struct{}
	}
	var inventory struct {
		All struct{ Children map[string]hosts }
	}
	readExample(t, "ansible/inventory.yaml", &inventory)
	for _, group := range []string{"control_plane", "workers"} {
		if len(inventory.All.Children[group].Hosts) == 0 {
			t.Errorf("group %s has no hosts", group)
		}
	}
	if len(inventory.All.Children) != 2 {
		t.Errorf("groups %v", inventory.All.Children)
	}
}
