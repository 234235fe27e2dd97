// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package why compares the texts that `bulkhead why` knows with the source of Kubernetes.
package why

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	// The source is in this module. This package of it is small.
	_ "k8s.io/kubernetes/third_party/forked/gonum/graph"

	"github.com/bulkhead-k8s/bulkhead/components/why"
)

const (
	nodeAuthorizer  = "plugin/pkg/auth/authorizer/node/node_authorizer.go"
	nodeRestriction = "plugin/pkg/admission/noderestriction/admission.go"
	// denials is outside of this module, so the cache of go test does not see a change there. After a
	// change, run the tests with -count=1.
	denials = "../../cmd/bulkhead/testdata/denials_upstream.txt"
)

// TestEveryReasonOfTheNodeAuthorizerIsExplained takes the reasons from its source.
func TestEveryReasonOfTheNodeAuthorizerIsExplained(t *testing.T) {
	reasons := reasonsOfNodeAuthorizer(t)
	if len(reasons) < 27 {
		t.Errorf("the source has only %d reasons", len(reasons))
	}
	for _, reason := range reasons {
		if a, err := why.Explain(why.ParseMessage(reason)); err != nil || len(a.Rules) == 0 || len(a.Options) == 0 {
			t.Errorf("`bulkhead why` does not explain %q: %v, %+v", reason, err, a)
		}
	}
}

// TestDenialsOfUpstreamHaveItsTexts: the golden test of `bulkhead why` has denials of Kubernetes.
func TestDenialsOfUpstreamHaveItsTexts(t *testing.T) {
	reasons, errs := map[string]bool{"": true}, errorsOfNodeRestriction(t)
	for _, reason := range reasonsOfNodeAuthorizer(t) {
		reasons[reason] = true
	}
	text, err := os.ReadFile(denials)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		id, message, found := strings.Cut(strings.TrimSpace(line), ": ")
		switch {
		case !found || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(id, "NA-"):
			if d := why.ParseMessage(message); d.Request == nil || !reasons[d.Reason] {
				t.Errorf("%s: the Node authorizer has no reason %q", id, d.Reason)
			}
		default:
			if _, reason, _ := strings.Cut(message, " is forbidden: "); !errs.MatchString(reason) {
				t.Errorf("%s: the plugin NodeRestriction has no text %q", id, reason)
			}
		}
	}
}

// arguments are the values in the reasons, by the expression in the source.
var arguments = map[string]any{
	"attrs.GetUser().GetName()": "system:node:",
	"nodeName":                  "worker-1",
	"attrs.GetName()":           "worker-2",
	"attrs.GetVerb()":           "delete",
	"api.NamespaceNodeLease":    "kube-node-lease",
}

// reasonsOfNodeAuthorizer returns the second value of each return of a decision, if it has a text.
func reasonsOfNodeAuthorizer(t *testing.T) []string {
	t.Helper()
	var reasons []string
	ast.Inspect(parse(t, nodeAuthorizer), func(n ast.Node) bool {
		returned, ok := n.(*ast.ReturnStmt)
		if !ok || len(returned.Results) != 3 ||
			!strings.HasPrefix(types.ExprString(returned.Results[0]), "authorizer.Decision") {
			return true
		}
		if reason := textOf(t, returned.Results[1]); reason != "" {
			reasons = append(reasons, reason)
		}
		return true
	})
	return reasons
}

// textOf returns the value of a string or of fmt.Sprintf.
func textOf(t *testing.T, e ast.Expr) string {
	t.Helper()
	if text, ok := literal(e); ok {
		return text
	}
	call, ok := e.(*ast.CallExpr)
	if !ok || types.ExprString(call.Fun) != "fmt.Sprintf" {
		t.Errorf("the reason %s is not a string and not fmt.Sprintf", types.ExprString(e))
		return ""
	}
	format, _ := literal(call.Args[0])
	var values []any
	for _, arg := range call.Args[1:] {
		value, known := arguments[types.ExprString(arg)]
		if !known {
			t.Errorf("add a value for %s in %q", types.ExprString(arg), format)
		}
		values = append(values, value)
	}
	return fmt.Sprintf(format, values...)
}

func literal(e ast.Expr) (string, bool) {
	basic, ok := e.(*ast.BasicLit)
	if !ok || basic.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(basic.Value)
	return text, err == nil
}

// verbs are those of a format whose values can be any text.
var verbs = regexp.MustCompile(`%[svwT]`)

// errorsOfNodeRestriction matches the text of every error that the plugin creates.
func errorsOfNodeRestriction(t *testing.T) *regexp.Regexp {
	t.Helper()
	var patterns []string
	ast.Inspect(parse(t, nodeRestriction), func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if of := types.ExprString(call.Fun); of != "fmt.Errorf" && of != "errors.New" {
			return true
		}
		if format, ok := literal(call.Args[0]); ok && strings.Trim(format, "%vw") != "" {
			pattern := strings.ReplaceAll(regexp.QuoteMeta(format), "%q", `"[^"]*"`)
			patterns = append(patterns, verbs.ReplaceAllString(pattern, ".*"))
		}
		return true
	})
	if len(patterns) < 60 {
		t.Errorf("the source has only %d errors", len(patterns))
	}
	return regexp.MustCompile("^(?:" + strings.Join(patterns, "|") + ")$")
}

// parse parses a file of the version of Kubernetes in go.mod.
func parse(t *testing.T, file string) *ast.File {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes").Output()
	if err != nil {
		t.Fatalf("cannot find the module of Kubernetes: %v", err)
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(strings.TrimSpace(string(dir)), file), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}
