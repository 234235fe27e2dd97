// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/bulkhead-k8s/bulkhead/components/why"
)

const whyHelp = `Why explains a decision: which authorizer or admission step made it, by which rule, which
path of the graph exists or is missing, and what would allow the request.

USER VERB RESOURCE asks the cluster: the API server's own authorizers, with a
SubjectAccessReview. With -f, a dry run as the user also asks admission. Your user needs the
right to create subjectaccessreviews, and for -f to impersonate the user. Nothing is changed.

MESSAGE is the text of an error: from kubectl, an event of a pod, a log line of the kubelet, or
one line of the API server's audit log. Text around the error does not matter. Why explains it
without a cluster. With --live, --kubeconfig or --context it also asks the cluster about the
request in the text. --node-name, --as-group and --field-selector complete that request.
- reads the text from standard input.

Exit code: 0 if the cluster allows the request, or if a text was explained without a cluster;
2 if the cluster denies the request; 1 for an error.`

// whyCommand has the flags of `bulkhead why`.
type whyCommand struct {
	clusterFlags
	who           why.Identity
	namespace     string
	allNamespaces bool
	selector      string
	file          string
	live          bool
	timeout       time.Duration
	output        string
}

const (
	// whyTimeout is the longest time of one request.
	whyTimeout = 15 * time.Second
	// whyMaxTimeout bounds the flag.
	whyMaxTimeout = time.Hour
	// whyRequests bounds the time of all requests: pages of a large cluster need several.
	whyRequests = 8
)

// deniedError is the error of a command that has run, and whose answer is that the request is denied.
type deniedError struct{}

func (deniedError) Error() string { return "the request is denied" }

func newWhyCommand() *cobra.Command {
	var c whyCommand
	cmd := &cobra.Command{
		Use:   "why MESSAGE | USER VERB RESOURCE[/SUBRESOURCE] [NAME]",
		Short: "Explain why a request is denied or allowed, and what would allow it",
		Long:  whyHelp,
		Example: `  bulkhead why system:node:worker-1 get secrets tls -n default
  bulkhead why system:node:worker-1 list pods --field-selector=spec.nodeName=worker-1 -A
  bulkhead why system:node:worker-1 update nodes worker-1 -f node.yaml
  bulkhead why 'nodes "a" is forbidden: node "b" is not allowed to modify node "a"'
  grep '"code":403' audit.log | tail -1 | bulkhead why -`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeQuestion,
		RunE:              c.run,
	}
	fs := cmd.Flags()
	c.add(fs)
	fs.StringSliceVar(&c.who.Groups, "as-group", nil, "A further group of the user. May be repeated. The groups of nodes "+
		"and of ServiceAccounts are added.")
	fs.StringVar(&c.who.NodeName, "node-name", "", "For a ServiceAccount: the node of the pod that its token is bound to.")
	fs.StringVarP(&c.namespace, "namespace", "n", "", "The namespace. Without this flag, that of the kubeconfig.")
	fs.BoolVarP(&c.allNamespaces, "all-namespaces", "A", false, "Ask about all namespaces, for list and watch.")
	fs.StringVar(&c.selector, "field-selector", "", "The field selector of a list or watch.")
	fs.StringVarP(&c.file, "filename", "f", "",
		"A file with the object to write, in YAML or JSON; - is standard input. It is sent as a dry run.")
	fs.BoolVar(&c.live, "live", false, "For a MESSAGE: also ask the cluster of the default kubeconfig.")
	fs.DurationVar(&c.timeout, "request-timeout", whyTimeout, fmt.Sprintf("The longest time that one request to the API "+
		"server may take. All requests may take %d times as long.", whyRequests))
	addOutputFlag(cmd, &c.output, "table", "json", "yaml")
	return cmd
}

func (c *whyCommand) run(cmd *cobra.Command, args []string) error {
	if isRequest(args) {
		return c.ask(cmd, &why.Request{Verb: strings.ToLower(args[1])}, args)
	}
	return c.explain(cmd, args)
}

// isRequest is true for USER VERB RESOURCE [NAME]. A message has other words, or is one argument.
func isRequest(args []string) bool {
	if len(args) != 3 && len(args) != 4 {
		return false
	}
	return !slices.ContainsFunc(args, func(arg string) bool { return strings.ContainsAny(arg, " \t\n\"[") })
}

// ask asks the cluster. args are USER VERB RESOURCE [NAME]; without them, the request is complete.
// notes are added to the answer.
func (c *whyCommand) ask(cmd *cobra.Command, r *why.Request, args []string, notes ...string) error {
	if c.timeout <= 0 || c.timeout > whyMaxTimeout {
		return fmt.Errorf("invalid --request-timeout=%v: it must be more than 0, and at most 1h; give a time such as %v",
			c.timeout, whyTimeout)
	}
	progress := startProgress(cmd.ErrOrStderr())
	progress.step("with the API server", 0, 1)
	answer, problems, err := c.answer(cmd, r, args)
	progress.stop()
	_, _ = fmt.Fprint(cmd.ErrOrStderr(), problems)
	if err != nil {
		return err
	}
	answer.Notes = append(answer.Notes, notes...)
	if err := c.print(cmd.OutOrStdout(), answer); err != nil || answer.Outcome == why.Allowed {
		return err
	}
	return deniedError{}
}

// answer returns the cluster's answer. problems is what the user must know about the question.
func (c *whyCommand) answer(cmd *cobra.Command, r *why.Request, args []string) (a *why.Answer, problems string,
	err error) {
	ctx, cancel := context.WithTimeout(cmd.Context(), whyRequests*c.timeout)
	defer cancel()
	loader := c.loader()
	config, err := c.config(loader)
	if err != nil {
		return nil, "", fmt.Errorf("cannot connect to the cluster: %w; give --kubeconfig", err)
	}
	config.Timeout = c.timeout
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, "", fmt.Errorf("cannot connect to the cluster: %w; check the kubeconfig", err)
	}
	asker := why.Asker{Client: client, FromText: args == nil, Metrics: why.ReadMetrics(client)}
	var unknown strings.Builder
	if args != nil {
		if err := c.complete(&unknown, client, loader, r, args); err != nil {
			return nil, unknown.String(), err
		}
	}
	if c.file != "" {
		if asker.Write, err = c.dryRun(cmd.InOrStdin(), config, r); err != nil {
			return nil, unknown.String(), err
		}
	}
	a, err = asker.Ask(ctx, r)
	return a, unknown.String(), err
}

// complete sets the parts of the request from the arguments and flags.
func (c *whyCommand) complete(problems io.Writer, client kubernetes.Interface, loader clientcmd.ClientConfig,
	r *why.Request, args []string) error {
	if err := r.As(args[0], c.who); err != nil {
		return err
	}
	if len(args) == 4 {
		r.Name = args[3]
	}
	fallback := ""
	if !c.allNamespaces {
		fallback, _, _ = loader.Namespace()
	}
	r.Namespace, r.FieldSelector = c.namespace, c.selector
	return r.Resolve(client.Discovery(), args[2], fallback, problems)
}

func (c *whyCommand) print(out io.Writer, answer *why.Answer) error {
	if c.output == "table" {
		return answer.Print(out)
	}
	return printStructured(out, c.output, answer)
}
