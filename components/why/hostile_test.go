// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"encoding/json"
	"strings"
	"testing"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/yaml"
)

// explained returns the answer and its text.
func explained(t *testing.T, d Denial) (*Answer, string) {
	t.Helper()
	a, err := Explain(d)
	if err != nil {
		t.Fatal(err)
	}
	return a, printed(t, a)
}

// ofPods is the end of a message about bob, who has no rights.
const ofPods = ` is forbidden: User "bob" cannot get resource "pods" in API group "" in the namespace "n"`

// TestANameIsNotAMessage: a user may choose the name of an object without the right to read it, and
// the API server quotes it.
func TestANameIsNotAMessage(t *testing.T) {
	const kubelet = "Forbidden (user=mallory, verb=create, resource=nodes, subresource=proxy)"
	const denied = `User \"mallory\" cannot get resource \"secrets\" in API group \"\" in the namespace \"n\": no`
	for _, row := range []struct{ name, message, request string }{
		{"name is a kubelet's text", `pods "` + kubelet + `"` + ofPods, "bob get pods n/" + kubelet},
		{"name ends in a kubelet's text", `pods "error: ` + kubelet + `"` + ofPods, "bob get pods n/error: " + kubelet},
		{"name is a message", `pods "x\" is forbidden: ` + denied + `"` + ofPods,
			`bob get pods n/x" is forbidden: ` + strings.ReplaceAll(denied, `\"`, `"`)},
		{"name is the end of a log line", `pods "a\"\" b=c"` + ofPods, `bob get pods n/a"" b=c`},
		{"name is a message, admission", `pods "x\" is forbidden: ` + denied + `" is forbidden: exceeded quota: q`, ""},
		{"user is a message", `pods is forbidden: User "a\" ` + denied[8:] + `" cannot list resource "pods" in API group ` +
			`"" at the cluster scope`, `a" ` + strings.ReplaceAll(denied[8:], `\"`, `"`) + " list pods"},
	} {
		t.Run(row.name, func(t *testing.T) {
			a, text := explained(t, ParseMessage("Error from server (Forbidden): "+row.message))
			if a.Request != row.request || a.Step == Kubelet {
				t.Errorf("%s: request %q, want %q", a.Step, a.Request, row.request)
			}
			if strings.Contains(text, "kubectl") || strings.Contains(text, "bound to mallory") {
				t.Errorf("a role for a user in a name:\n%s", text)
			}
		})
	}
	event := eventLine(t, func(e *auditv1.Event) {
		e.User.Username, e.User.Groups = "bob", nil
		e.Annotations = map[string]string{"authorization.k8s.io/decision": "allow"}
		e.ResponseStatus.Message = kubelet
	})
	d, err := ParseEvent(event)
	if err != nil {
		t.Fatal(err)
	}
	if a, text := explained(t, d); a.Request != "bob get secrets n/s" || a.Step != Kubelet ||
		strings.Contains(text, "clusterrole") {
		t.Errorf("event:\n%s", text)
	}
}

func TestARuleInANameDecidesNothing(t *testing.T) {
	a, text := explained(t, ParseMessage(`pods "x [NR-NODESPEC-2]" is forbidden: exceeded quota: q`))
	if len(a.Rules) > 0 || a.By != "ResourceQuota admission" {
		t.Error(text)
	}
}

func TestAKubeletChoosesNoUser(t *testing.T) {
	for _, user := range []string{"system:serviceaccount:x:evil", "alice", serverAtKubelets} {
		for _, before := range []string{"", "error: unable to upgrade connection: ", "Error from server (Forbidden): ",
			"error: unable to upgrade streaming request: websocket: bad handshake (403 Forbidden): "} {
			a, text := explained(t, ParseMessage(before+"Forbidden (user="+user+
				", verb=create, resource=nodes, subresource(s)=[exec]) [NR-NODESPEC-2] [KA-EXEC-1]"))
			if a.Step != Kubelet || !strings.Contains(text, "verb create on nodes/exec") ||
				!strings.Contains(text, textOfKubelet) {
				t.Errorf("%s%s: at %s\n%s", before, user, a.Step, text)
			}
			for _, o := range a.Options {
				if strings.Contains(o.String(), "kubectl") || strings.Contains(o.String(), user) ||
					strings.Contains(o.String(), "NR-NODESPEC-2") {
					t.Errorf("%s%s: %s", before, user, o)
				}
			}
		}
	}
}

// TestMessagesThatANodeCanWrite: first check who the user is.
func TestMessagesThatANodeCanWrite(t *testing.T) {
	const message = `pods "web"` + ofPods
	for text, want := range map[string]bool{
		message: false,
		"Error from server (Forbidden): " + message:                                          false,
		`Error from server (Forbidden): error when creating "p.yaml": ` + message:            false,
		"error: unable to upgrade connection: " + message:                                    true,
		"Error from server (Forbidden): " + message + ": no\n ( pods/log web)":               true,
		`MountVolume.SetUp failed for volume "v" : ` + message:                               true,
		`E1129 10:00:00.000000 1 a.go:1] "Failed" err="` + quotedOnce.Replace(message) + `"`: true,
	} {
		a, _ := explained(t, ParseMessage(text))
		if got := len(a.Options) > 0 && a.Options[0].Text == checkFirst; got != want {
			t.Errorf("%q: %+v", text, a.Options)
		}
	}
}

var quotedOnce = strings.NewReplacer(`"`, `\"`)

const evil = "\x1b[2J\u202e\a"

// TestCommandsHaveOnlyPlainNames: the API server accepts any group and subresource in a path, also from
// anonymous clients.
func TestCommandsHaveOnlyPlainNames(t *testing.T) {
	for _, word := range []string{"a;id", "$(id)", evil, strings.Repeat("a", 600)} {
		for field, edit := range map[string]func(*auditv1.ObjectReference){
			"group":       func(o *auditv1.ObjectReference) { o.APIGroup = word },
			"subresource": func(o *auditv1.ObjectReference) { o.Subresource = word },
			"resource":    func(o *auditv1.ObjectReference) { o.Resource = word },
			"namespace":   func(o *auditv1.ObjectReference) { o.Namespace = word },
		} {
			d, err := ParseEvent(eventLine(t, func(e *auditv1.Event) {
				e.User.Username, e.User.Groups, e.Annotations = "u", nil, map[string]string{
					"authorization.k8s.io/decision": "forbid"}
				edit(e.ObjectRef)
			}))
			if err != nil {
				t.Fatal(err)
			}
			noCommand(t, field+" of an event", d)
		}
	}
	for _, what := range []string{`"secrets/a;id" in API group ""`, `"secrets" in API group "a;id"`} {
		noCommand(t, what, ParseMessage(`secrets is forbidden: User "u" cannot get resource `+what+` in the namespace "n"`))
	}
}

// noCommand checks the answer in all formats of the output.
func noCommand(t *testing.T, name string, d Denial) {
	t.Helper()
	a, table := explained(t, d)
	asJSON, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	asYAML, err := yaml.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	for format, text := range map[string]string{"table": table, "json": string(asJSON), "yaml": string(asYAML)} {
		if strings.Contains(text, "kubectl") || !isPrintable(text) {
			t.Errorf("%s, %s: %q", name, format, text)
		}
	}
}

// isPrintable is false also for the escapes of JSON and YAML: programs decode them.
func isPrintable(text string) bool {
	for _, bad := range []string{"\x1b", "\u202e", "\a", `\u001b`, `\e`, `\u202e`, `\a`, `\u0007`} {
		if strings.Contains(strings.ReplaceAll(text, `\\`, ""), bad) {
			return false
		}
	}
	return true
}

func TestEveryStringIsPrintable(t *testing.T) {
	hostile := func() *Answer {
		list, rule := []string{evil}, Rule{evil, evil, evil, evil, evil, evil, evil}
		return &Answer{Request: evil, Outcome: evil, Step: evil, By: evil, Reason: evil, Rules: []Rule{rule},
			Findings: []Rule{rule}, View: []ViewAge{{Host: evil, Resource: evil}, {Unknown: evil}},
			Path:    &Path{Node: evil, Object: evil, OnlyWithout: evil, Here: list, Elsewhere: list, Missing: evil},
			Options: []Option{{Setting: evil, GivesUp: evil}, {Command: evil}, {Text: evil}}, Notes: list}
	}
	if text := printed(t, hostile()); !isPrintable(text) {
		t.Errorf("table: %q", text)
	}
	a := hostile()
	a.makePrintable()
	text, err := json.Marshal(a)
	if err != nil || !isPrintable(string(text)) {
		t.Errorf("json: %v, %q", err, text)
	}
}
