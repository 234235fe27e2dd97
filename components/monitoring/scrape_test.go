// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/config"
	_ "github.com/prometheus/prometheus/discovery/kubernetes" // role node
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"
	"sigs.k8s.io/yaml"
)

const (
	osLabel           = "__meta_kubernetes_node_label_kubernetes_io_os"
	poolLabel         = "__meta_kubernetes_node_label_pool"
	controlPlaneLabel = "__meta_kubernetes_node_labelpresent_node_role_kubernetes_io_control_plane"
)

// machines are the Nodes of a cluster, as service discovery describes them.
var machines = map[string]map[string]string{
	"cp1":      {osLabel: "linux", controlPlaneLabel: "true"},
	"edge-1":   {osLabel: "linux", poolLabel: "edge"},
	"worker-1": {osLabel: "linux", poolLabel: "general"},
	"win-1":    {osLabel: "windows"},
}

// wantTargets are the nodes on which each component is scraped.
var wantTargets = map[string][]string{
	"/metrics/bulkhead/kubelet-auth-proxy": {"cp1", "edge-1", "worker-1"},
	"/metrics/bulkhead/node-authorizer":    {"cp1"},
	"/metrics/bulkhead/node-restriction":   {"cp1"},
}

// targets returns the nodes that a configuration keeps, and checks their labels.
func targets(t *testing.T, nameLabel, job string, relabels []*relabel.Config) (kept []string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(machines)) {
		builder := labels.NewBuilder(labels.FromMap(machines[name]))
		builder.Set(nameLabel, name)
		builder.Set("job", job)
		if !relabel.ProcessBuilder(builder, relabels...) {
			continue
		}
		kept = append(kept, name)
		if got := builder.Labels(); got.Get("node") != name || !strings.HasPrefix(got.Get("job"), "bulkhead-") {
			t.Errorf("%s has the labels %v", name, got)
		}
	}
	return kept
}

// Prometheus loads the scrape configuration. It sends its token only over TLS that it verifies.
func TestScrapeConfiguration(t *testing.T) {
	text, err := os.ReadFile(files + "prometheus/scrape.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantTargets, scrapeTargets(t, string(text))); diff != "" {
		t.Errorf("targets (-want +got)\n%s", diff)
	}
}

// scrapeTargets returns the targets of a scrape configuration, and checks its settings.
func scrapeTargets(t *testing.T, text string) map[string][]string {
	t.Helper()
	loaded, err := config.Load(text, promslog.NewNopLogger())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, scrape := range loaded.ScrapeConfigs {
		client := scrape.HTTPClientConfig
		if scrape.Scheme != "https" || client.TLSConfig.InsecureSkipVerify || client.TLSConfig.CAFile == "" ||
			client.Authorization == nil || client.Authorization.CredentialsFile == "" || client.FollowRedirects ||
			scrape.HonorLabels || scrape.SampleLimit == 0 || scrape.BodySizeLimit == 0 {
			t.Errorf("%s is not as safe as it must be: %+v", scrape.JobName, scrape)
		}
		if scrape.JobName != "bulkhead-"+filepath.Base(scrape.MetricsPath) {
			t.Errorf("%s scrapes %s", scrape.JobName, scrape.MetricsPath)
		}
		got[scrape.MetricsPath] = targets(t, "__meta_kubernetes_node_name", scrape.JobName, scrape.RelabelConfigs)
	}
	return got
}

// The ServiceMonitor has the same targets.
func TestServiceMonitor(t *testing.T) {
	text, err := os.ReadFile(files + "operator/servicemonitor.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantTargets, monitorTargets(t, string(text))); diff != "" {
		t.Errorf("targets (-want +got)\n%s", diff)
	}
}

// monitorTargets returns the targets of a ServiceMonitor, and checks its settings.
func monitorTargets(t *testing.T, text string) map[string][]string {
	t.Helper()
	var monitor monitoringv1.ServiceMonitor
	if err := yaml.UnmarshalStrict([]byte(text), &monitor); err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, endpoint := range monitor.Spec.Endpoints {
		// Both types have the same field names in YAML, but not in Go.
		var relabels []*relabel.Config
		for _, one := range endpoint.RelabelConfigs {
			relabels = append(relabels, fromOperator(t, one))
		}
		got[endpoint.Path] = targets(t, "__meta_kubernetes_endpoint_address_target_name", "kubelet", relabels)
		tls := endpoint.TLSConfig
		if endpoint.Scheme == nil || *endpoint.Scheme != "https" || tls == nil || tls.CAFile == "" ||
			tls.InsecureSkipVerify != nil || endpoint.FollowRedirects == nil || *endpoint.FollowRedirects {
			t.Errorf("%s is not as safe as it must be", endpoint.Path)
		}
	}
	return got
}

// The rules of docs/monitoring.md leave out the nodes without kubelet-auth-proxy.
func TestLeftOutNodes(t *testing.T) {
	page, err := os.ReadFile("../../docs/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Leave out nodes\n")
	section, _, _ = strings.Cut(section, "\n## ")
	snippets := regexp.MustCompile("(?s)```yaml\n(.*?) *```").FindAllStringSubmatch(section, -1)
	if len(snippets) != 2 {
		t.Fatalf("the page has %d rules, want 2", len(snippets))
	}
	want := maps.Clone(wantTargets)
	want["/metrics/bulkhead/kubelet-auth-proxy"] = []string{"cp1", "worker-1"}
	for i, tc := range []struct {
		file, after string
		targets     func(*testing.T, string) map[string][]string
	}{
		{"prometheus/scrape.yaml", "        target_label: node\n", scrapeTargets},
		{"operator/servicemonitor.yaml", "          replacement: bulkhead-kubelet-auth-proxy\n", monitorTargets},
	} {
		t.Run(tc.file, func(t *testing.T) {
			text, err := os.ReadFile(files + tc.file)
			if err != nil {
				t.Fatal(err)
			}
			// In both files, this is the end of the first job's rules. The page is indented by a list.
			rule := regexp.MustCompile("(?m)^  ").ReplaceAllString(snippets[i][1], "")
			before, rest, _ := strings.Cut(string(text), tc.after)
			if diff := cmp.Diff(want, tc.targets(t, before+tc.after+rule+rest)); diff != "" {
				t.Errorf("targets (-want +got)\n%s", diff)
			}
		})
	}
}

func fromOperator(t *testing.T, from monitoringv1.RelabelConfig) *relabel.Config {
	t.Helper()
	to := relabel.DefaultRelabelConfig
	for _, source := range from.SourceLabels {
		to.SourceLabels = append(to.SourceLabels, model.LabelName(source))
	}
	if from.Regex != "" {
		to.Regex = relabel.MustNewRegexp(from.Regex)
	}
	if from.Action != "" {
		to.Action = relabel.Action(strings.ToLower(from.Action))
	}
	if from.Replacement != nil {
		to.Replacement = *from.Replacement
	}
	to.TargetLabel = from.TargetLabel
	if err := to.Validate(model.UTF8Validation); err != nil {
		t.Fatal(err)
	}
	return &to
}

// The PrometheusRule is decoded with the operator's own type.
func TestPrometheusRule(t *testing.T) {
	text, err := os.ReadFile(files + "operator/prometheusrule.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var object monitoringv1.PrometheusRule
	if err := yaml.UnmarshalStrict(text, &object); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, group := range object.Spec.Groups {
		for _, rule := range group.Rules {
			names = append(names, rule.Alert)
		}
	}
	if diff := cmp.Diff(alertNames(t), names); diff != "" {
		t.Errorf("alerts (-rules.yaml +PrometheusRule); run `make update`\n%s", diff)
	}
}
