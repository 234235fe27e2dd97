// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// storyVariable names the file that the stories are appended to. `make attack` sets it.
const storyVariable = "E2E_STORY"

// narrate prints a text to Ginkgo's output and to the file in E2E_STORY.
func narrate(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	GinkgoWriter.Print(text)
	path := os.Getenv(storyVariable)
	if path == "" {
		return
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	Expect(err).NotTo(HaveOccurred())
	_, err = file.WriteString(text)
	Expect(err).NotTo(HaveOccurred())
	Expect(file.Close()).To(Succeed())
}

// inBrief returns the start of a body as JSON.
func inBrief(body any) string {
	text, err := json.Marshal(body)
	if body == nil || err != nil || string(text) == "{}" {
		return ""
	}
	return " " + short(string(text))
}

func short(text string) string {
	const limit = 400
	if len(text) > limit {
		return text[:limit] + "…"
	}
	return text
}

// expectAudited expects the denial by an authorizer in the audit log. Only Bulkhead's denials name a
// rule.
func expectAudited(ctx context.Context, r *Run, who *Identity, since time.Time, rule rules.ID) {
	GinkgoHelper()
	expectEvent(ctx, r, who, since, func(event auditv1.Event) bool {
		return namesRule(event, rule)
	})
}

// expectAuditedRefusal expects the denial of a write in the audit log, with a text of the message.
func expectAuditedRefusal(ctx context.Context, r *Run, who *Identity, since time.Time, text string) {
	GinkgoHelper()
	expectEvent(ctx, r, who, since, func(event auditv1.Event) bool {
		return strings.Contains(event.ResponseStatus.Message, text)
	})
}

// namesRule looks at the message too: an event of a denied impersonation has no other reason.
func namesRule(event auditv1.Event, rule rules.ID) bool {
	return suite.Settings.Profile == InTree || suite.Settings.Profile == Any ||
		strings.Contains(event.Annotations["authorization.k8s.io/reason"]+event.ResponseStatus.Message, "["+string(rule)+"]")
}

// recordsRequest reports whether an event is of this request. Other specs use the accounts of the stage at
// the same time.
func recordsRequest(event auditv1.Event, request Request) bool {
	uri, err := url.ParseRequestURI(event.RequestURI)
	return err == nil && event.Verb == request.Verb && uri.Path == pathOf(request) &&
		uri.Query().Get("fieldSelector") == request.Selector
}

// pathOf returns the path of a request at the API server.
func pathOf(request Request) string {
	if request.Path != "" {
		path, _, _ := strings.Cut(request.Path, "?")
		return path
	}
	path := "/apis/" + request.Resource.Group + "/" + request.Resource.Version
	if request.Resource.Group == "" {
		path = "/api/" + request.Resource.Version
	}
	if request.Namespace != "" {
		path += "/namespaces/" + request.Namespace
	}
	path += "/" + request.Resource.Resource
	// The name of a new object is in the body.
	if request.Name != "" && (request.Verb != "create" || request.Subresource != "") {
		path += "/" + request.Name
	}
	if request.Subresource != "" {
		path += "/" + request.Subresource
	}
	return path
}

// expectEvent expects the event of a denial of the last request in the audit log, and prints it.
func expectEvent(ctx context.Context, r *Run, who *Identity, since time.Time, right func(auditv1.Event) bool) {
	GinkgoHelper()
	if why := suite.Host.Missing(); why != "" {
		GinkgoWriter.Println("the audit log was not read:", why)
		return
	}
	Eventually(ctx, func() (bool, error) {
		events, err := suite.Audited(ctx, since.Add(-time.Second), who.User)
		for _, event := range events {
			if event.ResponseStatus == nil || event.ResponseStatus.Code != http.StatusForbidden ||
				!recordsRequest(event, r.sent) || !right(event) {
				continue
			}
			r.Say("audit log: %s %s, user %s from %s: %d %s", event.Verb, event.RequestURI, event.User.Username,
				strings.Join(event.SourceIPs, ", "), event.ResponseStatus.Code, short(event.ResponseStatus.Message))
			return true, err
		}
		return false, err
	}).WithTimeout(Soon).WithPolling(time.Second).Should(BeTrue(), "the audit log has the denial")
}
