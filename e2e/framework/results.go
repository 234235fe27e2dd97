// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/isolationreport"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// results returns what the specs of a run claim, expect and saw.
func (s *Suite) results(report types.Report, profile Profile) *isolationreport.Results {
	results := isolationreport.NewResults(s.Name, string(profile), report.StartTime, report.RunTime)
	for _, spec := range specs(report) {
		results.Specs = append(results.Specs, specResult(spec, s.Rules, profile))
	}
	return results
}

func specResult(spec types.SpecReport, all []rules.Rule, profile Profile) isolationreport.Spec {
	claim := ReadClaim(spec.Labels())
	result := isolationreport.Spec{
		Container: spec.ContainerHierarchyTexts, Text: spec.LeafNodeText, Line: spec.LeafNodeLocation.LineNumber,
		Rules: claim.Rules, Want: isolationreport.Effect(claim.Want), By: claim.By, Off: claim.Off,
		Expected: isolationreport.Effect(claim.Want), Attack: attackOf(spec.Labels()), State: isolationreport.Passed,
		Message: spec.Failure.Message, Duration: spec.RunTime, Answers: answers(spec),
	}
	if claim.Off != "" && isOff(claim, all, profile) {
		result.Expected = isolationreport.Allow
	}
	switch {
	case timedOut(spec, result):
		result.State = isolationreport.TimedOut
	case spec.Failed():
		result.State = isolationreport.Failed
	case spec.State != types.SpecStatePassed:
		result.State = isolationreport.Skipped
	}
	return result
}

// unansweredInTime matches the failures of a spec because of a request, or of a wait for an object, that
// got no answer in time.
var unansweredInTime = regexp.MustCompile(`context deadline exceeded|dial tcp \S+ i/o timeout|TLS handshake timeout`)

// timedOut is true if a spec failed because of a time limit: of Ginkgo, of a request, or of Eventually. If a
// spec waits for a denial and the cluster goes on allowing the request, timedOut is false: the cluster may
// not enforce the rule.
func timedOut(spec types.SpecReport, result isolationreport.Spec) bool {
	switch {
	case spec.State == types.SpecStateTimedout:
		return true
	case spec.State != types.SpecStateFailed:
		return false
	case unansweredInTime.MatchString(spec.Failure.Message):
		return true
	case !strings.HasPrefix(spec.Failure.Message, "Timed out "):
		return false
	case result.Expected != isolationreport.Deny:
		return true
	}
	last := len(result.Answers) - 1
	return last >= 0 && !result.Answers[last].Allowed
}

func attackOf(labels []string) string {
	for _, label := range labels {
		if id, ok := strings.CutPrefix(label, attackKey); ok {
			return id
		}
	}
	return ""
}

// describeCluster adds what the API server says about the cluster. An answer that is missing leaves
// a field empty: a run is not lost because the cluster is away at its end.
func (s *Suite) describeCluster(ctx context.Context, results *isolationreport.Results) {
	if s.Cluster == nil {
		return
	}
	if server, err := s.Client.Discovery().ServerVersion(); err == nil {
		results.KubernetesVersion = server.GitVersion
	}
	list, err := s.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: "!" + FakeNodeLabel})
	if err != nil || len(list.Items) == 0 {
		return
	}
	info := list.Items[0].Status.NodeInfo
	// What follows the version names the machine's build.
	kernel, _, _ := strings.Cut(info.KernelVersion, "-")
	results.Nodes = len(list.Items)
	results.Platform = fmt.Sprintf("%s, %s/%s, Linux %s, %s", info.OSImage, info.OperatingSystem, info.Architecture,
		kernel, info.ContainerRuntimeVersion)
}

// answerEntry is the name of the report entries with an answer of the cluster.
const answerEntry = "answer"

// maxAnswers limits the answers of one spec in the results.
const maxAnswers = 8

// observe records an answer of the cluster for the report. Functions that compare an answer with a
// claim call it first.
func observe(answer isolationreport.Answer) {
	answer.Message = shortened(answer.Message)
	text, err := json.Marshal(answer)
	if err != nil {
		return // strings, a number and a boolean always have a JSON form
	}
	ginkgo.AddReportEntry(answerEntry, string(text), ginkgo.ReportEntryVisibilityNever)
}

// observed returns the answer in the form of the report.
func (a Answer) observed() isolationreport.Answer {
	seen := isolationreport.Answer{User: a.User, Request: a.Request.String(), Code: a.Code, Allowed: a.succeeded(),
		Message: a.Message}
	if a.Request.reviewOnly {
		seen.Allowed, seen.Message = a.Allowed, a.Reason
	} else if seen.Allowed && seen.Message == "" {
		seen.Message = a.Reason
	}
	return seen
}

// observed returns the answer of a kubelet's port. The caller says whether it is a denial.
func (r Reply) observed(allowed bool) isolationreport.Answer {
	seen := isolationreport.Answer{User: r.Caller.User, Request: r.Call.String() + " at a kubelet", Code: r.Code,
		Allowed: allowed}
	if seen.User == "" {
		seen.User = "an anonymous user"
	}
	if !allowed {
		// What the kubelet returns to an allowed request may be a log or another secret.
		seen.Message = strings.TrimSpace(r.Body)
	}
	return seen
}

// answers returns the recorded answers of a spec: the first ones, and the last one.
func answers(spec types.SpecReport) (all []isolationreport.Answer) {
	for _, entry := range spec.ReportEntries {
		var answer isolationreport.Answer
		if entry.Name != answerEntry || json.Unmarshal([]byte(entry.StringRepresentation()), &answer) != nil {
			continue
		}
		if len(all) == maxAnswers {
			all = all[:maxAnswers-1]
		}
		all = append(all, answer)
	}
	return all
}
