// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package program_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/component-base/metrics"

	"github.com/bulkhead-k8s/bulkhead/components/internal/kubeclient"
	"github.com/bulkhead-k8s/bulkhead/components/internal/program"
	"github.com/bulkhead-k8s/bulkhead/components/internal/program/programtest"
	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func TestGates(t *testing.T) {
	for _, tt := range []struct {
		name, args string
		want       map[string]bool
		err        string
	}{
		{"no gates change nothing", "", map[string]bool{"A": true, "B": false}, ""},
		{"gate changes its own feature", "--feature-gates=A=false", map[string]bool{"A": false, "B": false}, ""},
		{"gates add up", "--feature-gates=A=false --feature-gates=B=true", map[string]bool{"A": false, "B": true}, ""},
		{"an unknown gate is refused", "--feature-gates=a=false", map[string]bool{"A": true, "B": false},
			`--feature-gates: unknown gate "a", want [A B]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, b := true, false
			known := map[string]*bool{"B": &b, "A": &a}
			gates := program.Gates{}
			fs := pflag.NewFlagSet("", pflag.ContinueOnError)
			gates.Add(fs, known, "what is tested")
			const want = "Only gates that change what is tested are valid: A, B."
			if usage := fs.Lookup("feature-gates").Usage; !strings.HasSuffix(usage, want) {
				t.Errorf("usage %q", usage)
			}
			if err := fs.Parse(strings.Fields(tt.args)); err != nil {
				t.Fatal(err)
			}
			if err := gates.Set(known); errorText(err) != tt.err {
				t.Errorf("error %v, want %q", err, tt.err)
			}
			if diff := cmp.Diff(tt.want, map[string]bool{"A": a, "B": b}); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestExtensionModes(t *testing.T) {
	table := []rules.Rule{{ID: "XX-A-1", Optional: true}, {ID: "XX-A-2", Optional: true}}
	for _, tt := range []struct {
		name, args string
		want       map[rules.ID]rules.Mode
		problems   int
	}{
		{"default: all rules are enforced", "",
			map[rules.ID]rules.Mode{"XX-A-1": rules.Enforce, "XX-A-2": rules.Enforce}, 0},
		{"single rules differ", "--beyond-upstream=audit --rule-mode=XX-A-2=off",
			map[rules.ID]rules.Mode{"XX-A-1": rules.Audit, "XX-A-2": rules.Off}, 0},
		{"every problem is reported", "--beyond-upstream=on --rule-mode=XX-A-3=off,XX-A-1=on",
			map[rules.ID]rules.Mode{"XX-A-1": rules.Off, "XX-A-2": rules.Off}, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			beyond := program.DefaultExtensions()
			fs := pflag.NewFlagSet("", pflag.ContinueOnError)
			beyond.Add(fs, "", "")
			if err := fs.Parse(strings.Fields(tt.args)); err != nil {
				t.Fatal(err)
			}
			got, problems := beyond.Modes(table)
			if diff := cmp.Diff(tt.want, got); diff != "" || len(problems) != tt.problems {
				t.Errorf("problems %v (-want +got)\n%s", problems, diff)
			}
		})
	}
}

// Every flag sets the field with its name.
func TestEveryFlagSetsItsField(t *testing.T) {
	want := program.Options{
		Kubeconfig: "k", BindAddress: "::1", SecurePort: 1, HealthPort: 2, CertFile: "c", KeyFile: "p", ClientCAFile: "a",
		AllowedClientNames: []string{"x", "y"}, ShutdownTimeout: 1, Limits: webhook.Limits{InFlight: 4, InFlightPerNode: 3},
	}
	got := program.DefaultOptions("component")
	want.Logging = got.Logging
	var sections cliflag.NamedFlagSets
	got.AddKubeconfig(sections.FlagSet("deciding"), "")
	got.AddTo(&sections, "/path")
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, section := range sections.FlagSets {
		all.AddFlagSet(section)
	}
	if err := all.Parse(strings.Fields(
		`--kubeconfig=k --bind-address=::1 --secure-port=1 --health-port=2 --tls-cert-file=c --tls-private-key-file=p
		--client-ca-file=a --allowed-client-names=x,y --shutdown-timeout=1ns
		--max-requests-in-flight=4 --max-requests-in-flight-per-node=3`)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if problems := got.Validate(); len(problems) > 0 {
		t.Errorf("problems %v", problems)
	}
	server := got.Server()
	if server.SecurePort != 1 || server.HealthPort != 2 || server.CertFile != "c" || server.KeyFile != "p" ||
		server.ClientCAFile != "a" || len(server.AllowedClientNames) != 2 {
		t.Errorf("server %+v", server)
	}
}

func TestExitCodes(t *testing.T) {
	for fault, want := range map[error]int{nil: 0, errors.New("fault"): 1} {
		command := program.NewCommand("name", "", cliflag.NamedFlagSets{},
			func() (int, error) { return 7, nil },
			func(_ context.Context, got int) error {
				if got != 7 {
					t.Errorf("run with %d", got)
				}
				return fault
			})
		if got := mainOf(t, command); got != want {
			t.Errorf("%v: exit code %d, want %d", fault, got, want)
		}
	}
	broken := program.NewCommand("name", "", cliflag.NamedFlagSets{},
		func() (int, error) { return 0, errors.New("flags") },
		func(context.Context, int) error { t.Error("run without a configuration"); return nil })
	if got := mainOf(t, broken); got != 1 {
		t.Errorf("exit code %d", got)
	}
}

// --version needs no configuration. It is not -v, which is the log level.
func TestVersionFlag(t *testing.T) {
	for args, want := range map[string]string{"--version": "name version dev\n", "": "", "-v=2": ""} {
		var sections cliflag.NamedFlagSets
		program.AddLogging(logsapi.NewLoggingConfiguration(), sections.FlagSet("logging"))
		ran := false
		command := program.NewCommand("name", "", sections,
			func() (int, error) { ran = true; return 0, nil }, func(context.Context, int) error { return nil })
		var out strings.Builder
		command.SetOut(&out)
		command.SetArgs(strings.Fields(args))
		if err := command.Execute(); err != nil || out.String() != want || ran != (want == "") {
			t.Errorf("%q: output %q, ran %v, error %v", args, out.String(), ran, err)
		}
	}
}

// mainOf runs Main without the arguments and the output of the test.
func mainOf(t *testing.T, command *cobra.Command) int {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	before := os.Stderr
	os.Stderr = null
	defer func() { os.Stderr = before }()
	command.SetArgs([]string{})
	return program.Main(command)
}

// The background tasks run until the last request is answered.
func TestBackgroundTasksEndAfterTheLastResponse(t *testing.T) {
	api := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(api.Close)
	options := program.DefaultOptions("component")
	at := programtest.Place(t, &options, api.URL)
	client, err := kubeclient.New(options.Kubeconfig, "")
	if err != nil {
		t.Fatal(err)
	}
	entered, leave, background := make(chan struct{}), make(chan struct{}), make(chan struct{})
	program := program.Webhook{
		Server: options.Server(), Path: "/path", Registry: metrics.NewKubeRegistry(), Client: client,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			close(entered)
			<-leave
			select {
			case <-background:
				t.Error("the background has ended before the answer")
			default:
			}
			_, _ = io.WriteString(w, "answer")
		}),
		Background: []func(context.Context){func(ctx context.Context) { <-ctx.Done(); close(background) }},
	}
	ctx, stop := context.WithCancel(t.Context())
	ended, answered := make(chan error, 1), make(chan string, 1)
	go func() { ended <- program.Run(ctx) }()
	at.Await(t, "/readyz", "ok")
	go func() {
		_, body, err := at.Post(t, at.TLS, "/path", "")
		answered <- body + errorText(err)
	}()
	<-entered
	stop()
	at.Await(t, "/readyz", "stopping")
	close(leave)
	if got := <-answered; got != "answer" {
		t.Errorf("answered %q", got)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	<-background
}
