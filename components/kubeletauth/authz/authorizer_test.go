// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package authz

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	authorizationv1client "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/component-base/metrics"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/reviewclient"
)

// apiServer is a fake API server for access reviews.
type apiServer struct {
	authorizationv1client.SubjectAccessReviewInterface
	asked  atomic.Int64
	answer func(ctx context.Context,
		spec authorizationv1.SubjectAccessReviewSpec) (authorizationv1.SubjectAccessReviewStatus, error)
}

func (s *apiServer) Create(ctx context.Context, r *authorizationv1.SubjectAccessReview,
	_ metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	s.asked.Add(1)
	status, err := s.answer(ctx, r.Spec)
	return &authorizationv1.SubjectAccessReview{Status: status}, err
}

// says gives the same answer to every review.
func says(status authorizationv1.SubjectAccessReviewStatus, err error) *apiServer {
	return &apiServer{answer: func(context.Context,
		authorizationv1.SubjectAccessReviewSpec) (authorizationv1.SubjectAccessReviewStatus, error) {
		return status, err
	}}
}

var allowed = authorizationv1.SubjectAccessReviewStatus{Allowed: true, Reason: "because"}

func newAuthorizer(t *testing.T, s *apiServer, tweak ...func(*Options)) *Authorizer {
	t.Helper()
	config := Config{Options: DefaultOptions(), Reviews: s, Registry: metrics.NewKubeRegistry()}
	for _, change := range tweak {
		change(&config.Options)
	}
	a, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// request is a minimal request, changed by tweak.
func request(tweak ...func(*authorizer.AttributesRecord)) authorizer.AttributesRecord {
	attrs := authorizer.AttributesRecord{
		User: &user.DefaultInfo{Name: "u", UID: "1", Groups: []string{"g", "h"}, Extra: map[string][]string{"k": {"v"}}},
		Verb: "get", APIVersion: "v1", Resource: "nodes", Subresource: "stats", Name: "n", ResourceRequest: true,
		Path: "/stats/summary",
	}
	for _, change := range tweak {
		change(&attrs)
	}
	return attrs
}

func TestAnswersOfTheAPIServer(t *testing.T) {
	status := func(allowed, denied bool, reason, problem string) authorizationv1.SubjectAccessReviewStatus {
		return authorizationv1.SubjectAccessReviewStatus{Allowed: allowed, Denied: denied, Reason: reason,
			EvaluationError: problem}
	}
	for _, row := range []struct {
		name   string
		status authorizationv1.SubjectAccessReviewStatus
		err    error
		want   Answer
		fails  string
	}{
		{"allows", status(true, false, "r", ""), nil, Answer{Allowed: true, Reason: "r"}, ""},
		{"has no opinion", status(false, false, "r", ""), nil, Answer{Reason: "r"}, ""},
		{"denies", status(false, true, "r", ""), nil, Answer{Reason: "r"}, ""},
		{"allows in spite of an error", status(true, false, "", "e"), nil, Answer{Allowed: true, Reason: "e"}, ""},
		{"does not because of an error", status(false, false, "", "e"), nil, Answer{Reason: "e"}, ""},
		{"contradicts itself", status(true, true, "", ""), nil, Answer{},
			"reviewing access: the API server both allows and denies"},
		{"error with allowed true", status(true, false, "", ""), apierrors.NewBadRequest("x"), Answer{},
			"reviewing access: x"},
		{"gives a long reason", status(true, false, strings.Repeat("r", 5000), ""), nil,
			Answer{Allowed: true, Reason: strings.Repeat("r", maxReason)}, ""},
	} {
		t.Run("the API server "+row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := says(row.status, row.err)
				a := newAuthorizer(t, s)
				got, err := a.Authorize(t.Context(), request())
				if diff := cmp.Diff(row.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if err == nil && row.fails != "" || err != nil && err.Error() != row.fails {
					t.Errorf("error %v, want %q", err, row.fails)
				}
				again, err := a.Authorize(t.Context(), request())
				row.want.Cached = row.fails == ""
				if diff := cmp.Diff(row.want, again); diff != "" || (err != nil) != (row.fails != "") {
					t.Errorf("again: %v (-want +got):\n%s", err, diff)
				}
				if asked := s.asked.Load(); asked == 1 != row.want.Cached {
					t.Errorf("asked %d times", asked)
				}
			})
		})
	}
}

// Allowed and denied answers are cached for the times in the flags.
func TestAuthorizationCacheTTLsFollowTheFlags(t *testing.T) {
	for _, row := range []struct {
		name    string
		allowed bool
		tweak   func(*Options)
		want    time.Duration
	}{
		{"allowed, default TTL", true, func(*Options) {}, 5 * time.Minute},
		{"denied, default TTL", false, func(*Options) {}, 30 * time.Second},
		{"allowed, configured TTL", true, func(o *Options) { o.AuthorizedTTL = time.Second }, time.Second},
		{"denied, configured TTL", false, func(o *Options) { o.UnauthorizedTTL = time.Hour }, time.Hour},
		{"allowed, no caching", true, func(o *Options) { o.AuthorizedTTL = 0 }, 0},
		{"denied, no caching", false, func(o *Options) { o.UnauthorizedTTL = 0 }, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := says(authorizationv1.SubjectAccessReviewStatus{Allowed: row.allowed}, nil)
				a := newAuthorizer(t, s, row.tweak)
				ask := func(wantCached bool) {
					t.Helper()
					got, err := a.Authorize(t.Context(), request())
					if want := (Answer{Allowed: row.allowed, Cached: wantCached}); got != want || err != nil {
						t.Errorf("got %+v, %v, want %+v", got, err, want)
					}
				}
				ask(false)
				if row.want > 0 {
					time.Sleep(row.want - 1)
					ask(true)
					time.Sleep(time.Nanosecond)
				}
				ask(false)
			})
		})
	}
}

func TestReviewCarriesAllAttributes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []authorizationv1.SubjectAccessReviewSpec
		s := &apiServer{answer: func(_ context.Context,
			spec authorizationv1.SubjectAccessReviewSpec) (authorizationv1.SubjectAccessReviewStatus, error) {
			got = append(got, spec)
			return allowed, nil
		}}
		a := newAuthorizer(t, s)
		for _, attrs := range []authorizer.AttributesRecord{
			request(),
			request(func(r *authorizer.AttributesRecord) { r.ResourceRequest = false }),
			request(func(r *authorizer.AttributesRecord) { r.User, r.Namespace, r.APIGroup = nil, "ns", "a" }),
		} {
			if _, err := a.Authorize(t.Context(), attrs); err != nil {
				t.Error(err)
			}
		}
		who := authorizationv1.SubjectAccessReviewSpec{User: "u", UID: "1", Groups: []string{"g", "h"},
			Extra: map[string]authorizationv1.ExtraValue{"k": {"v"}}}
		resource, path, nobody := who, who, authorizationv1.SubjectAccessReviewSpec{}
		resource.ResourceAttributes = &authorizationv1.ResourceAttributes{Verb: "get", Version: "v1", Resource: "nodes",
			Subresource: "stats", Name: "n"}
		path.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Verb: "get", Path: "/stats/summary"}
		nobody.ResourceAttributes = &authorizationv1.ResourceAttributes{Namespace: "ns", Group: "a", Verb: "get",
			Version: "v1", Resource: "nodes", Subresource: "stats", Name: "n"}
		if diff := cmp.Diff([]authorizationv1.SubjectAccessReviewSpec{resource, path, nobody}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestLargeAttributesAreNotCached(t *testing.T) {
	for _, row := range []struct {
		name   string
		tweak  func(*authorizer.AttributesRecord)
		cached bool
	}{
		{"just short enough", func(r *authorizer.AttributesRecord) {
			r.Name = strings.Repeat("n", 9999-len("getv1nodesstats"))
		}, true},
		{"too long", func(r *authorizer.AttributesRecord) { r.Name = strings.Repeat("n", 10_000-len("getv1nodesstats")) },
			false},
		{"long path that is not sent to the API server",
			func(r *authorizer.AttributesRecord) { r.Path = strings.Repeat("n", 20_000) }, true},
		{"a long path, which it is",
			func(r *authorizer.AttributesRecord) { r.Path, r.ResourceRequest = strings.Repeat("n", 10_000), false }, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAuthorizer(t, says(allowed, nil))
				for _, cached := range []bool{false, row.cached} {
					got, err := a.Authorize(t.Context(), request(row.tweak))
					if want := (Answer{Allowed: true, Cached: cached, Reason: "because"}); got != want || err != nil {
						t.Errorf("got %+v, %v, want %+v", got, err, want)
					}
				}
			})
		})
	}
}

func TestReviewsOfManyAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &apiServer{answer: func(context.Context,
			authorizationv1.SubjectAccessReviewSpec) (authorizationv1.SubjectAccessReviewStatus, error) {
			time.Sleep(time.Second)
			return allowed, nil
		}}
		a := newAuthorizer(t, s, func(o *Options) { o.MaxInFlight, o.MaxWaiting = 2, 4 })
		var callers sync.WaitGroup
		var busy atomic.Int64
		start := time.Now()
		for i := range 10 {
			callers.Go(func() {
				_, err := a.Authorize(t.Context(), request(func(r *authorizer.AttributesRecord) { r.Name = string(rune('a' + i)) }))
				if errors.Is(err, reviewclient.ErrBusy) {
					busy.Add(1)
				} else if err != nil {
					t.Error(err)
				}
			})
		}
		callers.Wait()
		if busy.Load() != 4 || time.Since(start) != 3*time.Second {
			t.Errorf("%d busy, %v; want 4, and two at a time for 3s", busy.Load(), time.Since(start))
		}
	})
}

func TestAlwaysAllowSendsNoReview(t *testing.T) {
	a, err := New(Config{Options: Options{Mode: ModeAlwaysAllow, MaxInFlight: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := a.Authorize(t.Context(), request()); got != (Answer{Allowed: true}) || err != nil {
		t.Errorf("got %+v, %v", got, err)
	}
	a.Wait()
}

func TestWebhookNeedsAClient(t *testing.T) {
	if _, err := New(Config{Options: DefaultOptions(), Registry: metrics.NewKubeRegistry()}); err == nil {
		t.Error("made without a client")
	}
}

// Two callers make the same request. One bounds the age of its answer and is denied after the right
// was removed. The other is allowed from the cache.
func TestMaxAgeHasTheAPIServerAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := says(allowed, nil)
		a := newAuthorizer(t, s)
		ask := func(ctx context.Context, want Answer) {
			t.Helper()
			if got, err := a.Authorize(ctx, request()); got != want || err != nil {
				t.Errorf("got %+v, %v, want %+v", got, err, want)
			}
		}
		ask(t.Context(), Answer{Allowed: true, Reason: "because"})
		time.Sleep(time.Minute)
		s.answer = says(authorizationv1.SubjectAccessReviewStatus{}, nil).answer
		ask(t.Context(), Answer{Allowed: true, Reason: "because", Cached: true})
		ask(reviewclient.WithMaxAge(t.Context(), time.Second), Answer{})
		// The new answer is cached for all callers.
		ask(t.Context(), Answer{Cached: true})
	})
}
