// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	"github.com/bulkhead-k8s/bulkhead/components/auditreport"
	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/rulebook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// optionsOf returns what an administrator can change about a rule that denied the request.
func optionsOf(id rules.ID, r *Request, message string) []Option {
	f := auditreport.Finding{Rule: id, Reason: message}
	if r != nil {
		f.Namespace = r.Namespace
	}
	if rule, _ := rulebook.Find(id); rule.Audited { // it denies, so the operator has named it
		modes := auditreport.Field{Path: "rules.modes." + string(id), Value: rules.Audit.String()}
		return Options(id, auditreport.Setting{Fields: []auditreport.Field{modes},
			Remedy: "The rule denies only because rules.modes names it."})
	}
	return Options(id, auditreport.SettingOf(f))
}

// Options returns a setting as options.
func Options(id rules.ID, setting auditreport.Setting) []Option {
	var options []Option
	rule, _ := rulebook.Find(id)
	gives := setting.GivesUp
	for _, field := range setting.Fields {
		options = append(options, Option{Setting: field.String(), GivesUp: gives})
		gives = ""
	}
	if rule.Optional && !strings.Contains(string(id), "-REVOKE-") {
		options = append(options, Option{Command: fmt.Sprintf("bulkhead install --rule-mode=%s=audit (or off)", id)})
	}
	if setting.Remedy != "" {
		options = append(options, Option{Text: setting.Remedy})
	}
	return options
}

// relationOption returns the object that must exist so that the node may read the object.
func relationOption(node string, o object) Option {
	node = webhook.Loggable(node)
	thing := o.String()
	switch o.kind {
	case kindOfNodes:
		return Option{Text: fmt.Sprintf("The %s must name node %s.", thing, node)}
	case kindOfSecrets:
		return Option{Text: fmt.Sprintf("A pod that is bound to node %s must use %s, itself or through a persistent volume.",
			node, thing)}
	case kindOfVolumes:
		return Option{Text: fmt.Sprintf("A pod that is bound to node %s must use the claim of %s.", node, thing)}
	case kindOfPods:
	}
	return Option{Text: fmt.Sprintf("A pod that is bound to node %s must use %s.", node, thing)}
}

// plain is a word that needs no quotes in a shell.
var plain = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:@/-]*$`)

// roleOptions returns the role that RBAC needs. It returns commands only for plain names: a client may
// have chosen them.
func roleOptions(r *Request) []Option {
	what := fmt.Sprintf("verb %s on %s", r.Verb, r.ResourceName())
	if r.Path != "" {
		what = fmt.Sprintf("verb %s on nonResourceURL %s", r.Verb, r.Path)
	}
	kind, where := "ClusterRole", ""
	if r.Namespace != "" {
		kind, where = "Role", " in namespace "+r.Namespace
	}
	role := fmt.Sprintf("RBAC: a %s%s with %s, bound to %s.", kind, where, what, r.User)
	options := []Option{{Text: webhook.Printable(role, 1<<10)}}
	for _, word := range []string{r.User, r.Verb, r.Resource + r.Path, r.Namespace, r.Name} {
		if word != "" && !plain.MatchString(strings.TrimPrefix(word, "/")) {
			return options
		}
	}
	return append(options, Option{Command: createRole(r, kind)}, Option{Command: bindRole(r, kind)})
}

func createRole(r *Request, kind string) string {
	command := "kubectl"
	if r.Namespace != "" {
		command += " -n " + r.Namespace
	}
	command += " create " + strings.ToLower(kind) + " NAME --verb=" + r.Verb
	if r.Path != "" {
		return command + " --non-resource-url=" + r.Path
	}
	resource := r.Resource
	if r.Group != "" {
		resource += "." + r.Group
	}
	if r.Subresource != "" {
		resource += "/" + r.Subresource
	}
	command += " --resource=" + resource
	if r.Name != "" && r.Verb != "create" {
		command += " --resource-name=" + r.Name
	}
	return command
}

func bindRole(r *Request, kind string) string {
	command := "kubectl"
	if r.Namespace != "" {
		command += " -n " + r.Namespace
	}
	command += " create " + strings.ToLower(kind) + "binding NAME --" + strings.ToLower(kind) + "=NAME"
	if namespace, name, err := serviceaccount.SplitUsername(r.User); err == nil {
		return command + " --serviceaccount=" + namespace + ":" + name
	}
	return command + " --user=" + r.User
}
