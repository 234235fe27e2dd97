// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"os"
	"path/filepath"
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
	controlPlaneLabel = "__meta_kubernetes_node_labelpresent_node_role_kubernetes_io_control_plane"
)

// machines are the Nodes of a cluster, as service discovery describes them.
var machines = map[string]map[string]string{
	"cp1":      {osLabel: "linux", controlPlaneLabel: "true"},
	"worker-1": {osLabel: "linux"},
	"win-1":    {osLabel: "windows"},
}

// wantTargets are the nodes on which each component is scraped.
var wantTargets = map[string][]string{
	"/metrics/bulkhead/kubelet-auth-proxy": {"cp1", "worker-1"},
	"/metrics/bulkhead/node-authorizer":    {"cp1"},
	"/metrics/bulkhead/node-restriction":   {"cp1"},
}

// targets returns the nodes that a configuration keeps, and checks their labels.
func targets(t *testing.T, nameLabel, job string, relabels []*relabel.Config) (kept []string) {
	t.Helper()
	for _, name := range []string{"cp1", "win-1", "worker-1"} {
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
	loaded, err := config.Load(string(text), promslog.NewNopLogger())
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
	if diff := cmp.Diff(wantTargets, got); diff != "" {
		t.Errorf("targets (-want +got)\n%s", diff)
	}
}

// The ServiceMonitor has the same targets.
func TestServiceMonitor(t *testing.T) {
	text, err := os.ReadFile(files + "operator/servicemonitor.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var monitor monitoringv1.ServiceMonitor
	if err := yaml.UnmarshalStrict(text, &monitor); err != nil {
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
	if diff := cmp.Diff(wantTargets, got); diff != "" {
		t.Errorf("targets (-want +got)\n%s", diff)
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
