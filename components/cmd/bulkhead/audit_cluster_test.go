// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/bulkhead-k8s/bulkhead/components/auditreport"
)

func bulkheadPod(name, container string, restarts int32) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name,
			Labels: map[string]string{"app.kubernetes.io/part-of": "bulkhead"}},
		Spec:   corev1.PodSpec{Containers: []corev1.Container{{Name: container}}},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: container, RestartCount: restarts}}},
	}
}

// opened returns logs by pod. The name of a previous log ends in /previous.
func opened(logs map[string]string) func(context.Context, podLog, time.Duration) (io.ReadCloser, error) {
	return func(_ context.Context, l podLog, _ time.Duration) (io.ReadCloser, error) {
		name := l.pod
		if l.previous {
			name += "/previous"
		}
		text, ok := logs[name]
		if !ok {
			return nil, errors.New("the kubelet\x1b does not answer")
		}
		return io.NopCloser(strings.NewReader(text)), nil
	}
}

func logsOf(t *testing.T, logs map[string]string, pods ...runtime.Object) (*auditreport.Report, []string, error) {
	t.Helper()
	var report auditreport.Report
	p := podLogs{client: fake.NewClientset(pods...), since: time.Hour, progress: io.Discard, report: &report,
		open: opened(logs)}
	_, problems, err := p.read(t.Context())
	return &report, problems, err
}

func TestLogsOfPods(t *testing.T) {
	report, problems, err := logsOf(t, map[string]string{
		"bulkhead-node-restriction-a": registrationLine, "bulkhead-node-restriction-a/previous": registrationLine,
		"bulkhead-node-authorizer-a": secretsLine,
	},
		bulkheadPod("bulkhead-node-restriction-a", "node-restriction", 1),
		bulkheadPod("bulkhead-node-authorizer-a", "node-authorizer", 1),
		bulkheadPod("proxy-x", "kubelet-auth-proxy", 0), bulkheadPod("bulkhead-certs-a", "certificate-rotator", 0))
	if err != nil {
		t.Fatal(err)
	}
	if len(problems) != 1 || problems[0] != "cannot read the log of pod proxy-x: the kubelet\ufffd does not answer" {
		t.Errorf("problems %q", problems)
	}
	entries := report.Entries()
	if len(entries) != 2 || entries[0].Requests != 2 {
		t.Errorf("entries %+v", entries)
	}
}

func TestNoPods(t *testing.T) {
	if _, _, err := logsOf(t, nil); err == nil || !strings.Contains(err.Error(), "bulkhead install --mode=audit") {
		t.Errorf("error %v", err)
	}
	_, _, err := logsOf(t, nil, bulkheadPod("a", "node-authorizer", 0))
	if err == nil || !strings.Contains(err.Error(), "cannot read the log of any pod") {
		t.Errorf("error %v", err)
	}
	_, _, err = logsOf(t, nil, bulkheadPod("a", "node-authorizer", 3))
	if err == nil || !strings.Contains(err.Error(), "cannot read the log of any pod") {
		t.Errorf("error %v", err)
	}
}

// A report without the log of a webhook must not look complete. A proxy may be waiting for
// `bulkhead node install`.
func TestMissingLogsMakeTheReportIncomplete(t *testing.T) {
	for _, tt := range []struct {
		missing string
		want    bool
	}{{"", false}, {"node-restriction", true}, {"node-authorizer", true}, {"kubelet-auth-proxy", false}} {
		logs := map[string]string{}
		var pods []runtime.Object
		for _, name := range []string{"node-restriction", "node-authorizer", "kubelet-auth-proxy"} {
			pods = append(pods, bulkheadPod(name, name, 0))
			if name != tt.missing {
				logs[name] = ""
			}
		}
		p := podLogs{client: fake.NewClientset(pods...), since: time.Hour, progress: io.Discard,
			report: &auditreport.Report{}, open: opened(logs)}
		if _, _, err := p.read(t.Context()); err != nil || p.incomplete != tt.want {
			t.Errorf("without the log of %q: incomplete %v, want %v; %v", tt.missing, p.incomplete, tt.want, err)
		}
	}
}
