// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bulkhead-k8s/bulkhead/components/internal/auditlog"
	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/rulebook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
	"github.com/bulkhead-k8s/bulkhead/components/why"
)

// explain explains a text. It also asks the cluster about the request in it, if a flag says so.
func (c *whyCommand) explain(cmd *cobra.Command, args []string) error {
	text := strings.Join(args, " ")
	if text == "-" {
		var err error
		if text, err = readText(cmd.InOrStdin()); err != nil {
			return err
		}
	}
	if r, is := rulebook.Find(rules.ID(strings.ToUpper(strings.TrimSpace(text)))); is {
		return fmt.Errorf("cannot explain %s: it is the ID of a rule, not a message; run `%s rules %[1]s`", r.ID,
			programName())
	}
	denial, event, err := parseText(text)
	if err != nil {
		return err
	}
	if err := c.amend(cmd.Flags(), denial.Request, event); err != nil {
		return err
	}
	if !c.live && !c.given() {
		answer, err := why.Explain(denial)
		if err != nil {
			return err
		}
		return c.print(cmd.OutOrStdout(), answer)
	}
	if denial.Request == nil {
		return errors.New("cannot ask the cluster: the message does not name the user, the verb and the resource; give " +
			"USER VERB RESOURCE, or leave out --live")
	}
	return c.ask(cmd, denial.Request, nil, denial.Notes...)
}

// readText reads a message or a line of an audit log.
func readText(in io.Reader) (string, error) {
	data, err := io.ReadAll(io.LimitReader(in, auditlog.MaxLine+2))
	if err != nil {
		return "", fmt.Errorf("cannot read standard input: %w; give the message as an argument", err)
	}
	if len(data) > auditlog.MaxLine+1 {
		return "", errors.New("cannot read standard input: it is longer than 8 MiB; give one line of the audit log")
	}
	return string(data), nil
}

// parseText reads a message, or an event of an audit log.
func parseText(text string) (denial why.Denial, event bool, err error) {
	if strings.TrimSpace(text) == "" {
		return why.Denial{}, false,
			errors.New("cannot explain an empty message: give the text of an error, or USER VERB RESOURCE")
	}
	if why.IsEvent([]byte(text)) {
		message, ok := why.MessageOf([]byte(text))
		if !ok {
			denial, err = why.ParseEvent([]byte(text))
			return denial, true, err
		}
		text = message
	}
	if len(text) > why.MaxMessage {
		return why.Denial{}, false, errors.New("cannot explain the message: it is longer than 64 KiB; give one message, or " +
			"one line of the audit log")
	}
	return why.ParseMessage(text), false, nil
}

// forQuestions are the flags that have no meaning for a text, each with what to do instead.
var forQuestions = []struct{ name, shorthand, next string }{
	{"filename", "-f", "give USER VERB RESOURCE and -f"},
	{"namespace", "-n", "the message has the namespace; to ask about another one, give USER VERB RESOURCE and -n"},
	{"all-namespaces", "-A", "the message has the namespace; to ask about all, give USER VERB RESOURCE and -A"},
}

// completing are the flags for what a message does not have. A line of the audit log has it.
var completing = []string{"as-group", "node-name", "field-selector"}

// amend applies the flags to the request in a text. It returns an error for a flag that has no effect.
func (c *whyCommand) amend(fs *pflag.FlagSet, r *why.Request, event bool) error {
	for _, flag := range forQuestions {
		if fs.Changed(flag.name) {
			return fmt.Errorf("cannot use %s with a message: %s", flag.shorthand, flag.next)
		}
	}
	for _, name := range completing {
		switch {
		case !fs.Changed(name):
		case event:
			return fmt.Errorf("cannot use --%s with a line of the audit log: the line has the user and the selector; leave out "+
				"the flag", name)
		case r == nil:
			return fmt.Errorf("cannot use --%s: the message does not name the user, the verb and the resource; give USER VERB "+
				"RESOURCE", name)
		}
	}
	if fs.Changed("field-selector") {
		if !slices.Contains([]string{"list", "watch", "deletecollection"}, r.Verb) {
			return fmt.Errorf("cannot use --field-selector with verb %s: only list, watch and deletecollection have one; leave "+
				"out the flag", webhook.Loggable(r.Verb))
		}
		r.FieldSelector = c.selector
	}
	if fs.Changed("as-group") || fs.Changed("node-name") {
		return r.As(r.User, c.who)
	}
	return nil
}
