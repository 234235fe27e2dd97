// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeidentity"
	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
)

// maxWord bounds the length of a word in a command. The longest user of a ServiceAccount has 338 bytes.
const maxWord = 512

// plain is a word that needs no quotes in a shell.
var plain = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:@/-]*$`)

// notForNodes replaces a role for a node. A role has no relation to pods: it would give the node every
// object of a namespace.
const notForNodes = "Give the right to the ServiceAccount of the workload that needs it. Do not bind a role to a " +
	"node or to group " + user.NodesGroup + ": the node could then use it for every object, not only for those " +
	"of its pods."

// bootstrapUser is the beginning of the user of every bootstrap token.
//
// Source: staging/src/k8s.io/cluster-bootstrap/token/api/types.go BootstrapUserPrefix.
const bootstrapUser = "system:bootstrap:"

// notForAnonymous and notForTokens replace a role for a client that has not authenticated, or only with
// a bootstrap token.
const (
	notForAnonymous = "Authenticate: the request has no valid credentials. Do not bind a role to " + user.Anonymous +
		" or to group " + user.AllUnauthenticated + ": every client that reaches the API server could then use it."
	notForTokens = "Authenticate with other credentials: a bootstrap token is only for a machine that joins. Do not " +
		"bind a role to the token or to its groups: every client with a token could then use it. `kubeadm init phase " +
		"bootstrap-token` creates the roles that kubeadm join needs."
)

// insteadOfRole returns what to do if a role for the user would be for a node, for everybody, or for a
// bootstrap token. It returns an empty text for other users.
func (r *Request) insteadOfRole() string {
	switch {
	case strings.HasPrefix(r.User, nodeidentity.Prefix), slices.Contains(r.Groups, user.NodesGroup):
		return notForNodes
	case r.User == user.Anonymous, r.User == user.AllUnauthenticated, slices.Contains(r.Groups, user.AllUnauthenticated):
		return notForAnonymous
	case strings.HasPrefix(r.User, bootstrapUser), strings.HasPrefix(r.User, nodeidentity.BootstrapGroup),
		nodeidentity.IsBootstrapper(r.info()):
		return notForTokens
	}
	return ""
}

// checkFirst is for a request in a message that a node can have written.
const checkFirst = "First find the request in the API server's audit log. A node can have written this message, and " +
	"can name any user: it is in an event, in a log line, or in the text of kubectl exec or kubectl logs."

// roleOptions returns the role that RBAC needs. It returns no role for a node, for an anonymous user or
// for a bootstrap token. It returns commands only for plain names: a client may have chosen them.
func roleOptions(r *Request) []Option {
	if instead := r.insteadOfRole(); instead != "" {
		return []Option{{Text: instead}}
	}
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
	if r.Relayed {
		options = slices.Insert(options, 0, Option{Text: checkFirst})
	}
	for _, word := range []string{r.User, r.Verb, r.Resource + r.Path, r.Subresource, r.Group, r.Namespace, r.Name} {
		if len(word) > maxWord || word != "" && !plain.MatchString(strings.TrimPrefix(word, "/")) {
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
