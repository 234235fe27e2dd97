// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crawler_test

import (
	"net/http"
	"slices"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
)

// serverPaths are non-resource paths of the API server: paths that it serves, and paths that it may
// serve.
var serverPaths = []string{
	"/", "/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/healthz", "/livez", "/livez/ping", "/readyz",
	"/readyz/ping",
	"/metrics", "/metrics/slis", "/version", "/openapi/v2", "/openapi/v3", "/openapi/v3/api/v1", "/logs", "/logs/",
	"/configz", "/flagz", "/statusz",
	"/debug/pprof/", "/debug/pprof/cmdline", "/debug/api_priority_and_fairness/dump_queues", "/debug/flags/v",
	"/.well-known/openid-configuration", "/openid/v1/jwks",
}

// ofPaths tries every verb that a non-resource path can have. The log level is the only setting
// that could change there; it is only read.
func ofPaths() []attempt {
	var all []attempt
	for _, path := range serverPaths {
		for verb, method := range map[string]string{
			"get": http.MethodGet, "head": http.MethodHead, "post": http.MethodPost, "put": http.MethodPut,
			"patch": http.MethodPatch, "delete": http.MethodDelete,
		} {
			if verb != "get" && strings.HasPrefix(path, "/debug/flags") {
				continue
			}
			a := newAttempt(byPath, verb, path, none, path).about(path)
			a.Method = method
			if verb == "get" || verb == "head" {
				a.Query.Del(dryRun)
			}
			all = append(all, a)
		}
	}
	slices.SortFunc(all, func(a, b attempt) int { return strings.Compare(a.Path+a.Verb, b.Path+b.Verb) })
	return all
}

// ofImpersonations sends a SelfSubjectReview while it impersonates another user.
func ofImpersonations(w world) []attempt {
	var all []attempt
	add := func(whose relation, as string, headers ...string) {
		a := newAttempt(byImpersonation, "create", "impersonation of "+as, whose,
			"/apis/authentication.k8s.io/v1/selfsubjectreviews").about(as)
		for i := 0; i+1 < len(headers); i += 2 {
			a.Header.Add(headers[i], headers[i+1])
		}
		all = append(all, a.sending(plainJSON, selfReview))
	}
	const user, group, extra = "Impersonate-User", "Impersonate-Group", "Impersonate-Extra-Crawled"
	add(own, "the own node", user, "system:node:"+w.Own, group, "system:nodes")
	add(other, "the other node", user, "system:node:"+w.Other, group, "system:nodes")
	add(unrelated, "an administrator", user, "kubernetes-admin", group, "system:masters")
	add(unrelated, "a service account", user, "system:serviceaccount:kube-system:namespace-controller")
	add(unrelated, "a user with something extra", user, "e2e-crawled", extra, "true")
	return all
}

// selfReview is a SelfSubjectReview. Every valid credential gets an answer.
var selfReview = map[string]any{"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}

// reviews are review objects. Their creation returns an answer and stores no object.
func reviews(namespace string) map[string]object {
	question := func(body map[string]any) object { return object{Relation: none, Body: body} }
	local := question(asObject(none, fixtures.LocalSubjectAccessReview(namespace)).Body)
	local.Namespace = namespace
	return map[string]object{
		api.TokenReviews.GroupResource().String():              question(asObject(none, fixtures.TokenReview()).Body),
		api.SubjectAccessReviews.GroupResource().String():      question(asObject(none, fixtures.SubjectAccessReview()).Body),
		api.LocalSubjectAccessReviews.GroupResource().String(): local,
		api.SelfSubjectAccessReviews.GroupResource().String(): question(
			asObject(none, fixtures.SelfSubjectAccessReview()).Body),
		api.SelfSubjectRulesReviews.GroupResource().String(): question(
			map[string]any{"spec": map[string]any{"namespace": namespace}}),
		api.SelfSubjectReviews.GroupResource().String(): question(map[string]any{}),
	}
}
