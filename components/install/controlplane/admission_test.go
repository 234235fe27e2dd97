// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/engine"
	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
	"github.com/bulkhead-k8s/bulkhead/components/install/render"
)

const registrationKey = "ValidatingWebhookConfiguration/" + registeredName

func TestRegistrationTrustsOnlyTheBulkheadCA(t *testing.T) {
	for _, profile := range []Profile{Hardened, Parity} {
		onHost(t, string(profile), func(t *testing.T, h *testHost) {
			must(t, h.installer().Install(t.Context(), options(profile)))
			object, err := render.Object(read(t, h.layout.Registration()))
			must(t, err)
			if diff := cmp.Diff(string(read(t, h.layout.CA().CertFile)), string(bundleOf(object))); diff != "" {
				t.Errorf("-CA +trusted:\n%s", diff)
			}
			if has := bytes.Contains(read(t, h.layout.Registration()), []byte("leases")); has != (profile == Parity) {
				t.Errorf("it has leases: %v", has)
			}
			if h.fromDisk() == "" || h.objects[registrationKey] != nil {
				t.Errorf("from disk: %q; the API has %v", h.fromDisk(), h.objects[registrationKey])
			}
		})
	}
}

// TestANewRegistrationNeedsNoRestart: the server watches the registration itself.
func TestANewRegistrationNeedsNoRestart(t *testing.T) {
	onHost(t, "after one of another version", func(t *testing.T, h *testHost) {
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		first := h.snapshot()
		old, err := render.RegistrationFile(Parity.registration(), read(t, h.layout.CA().CertFile))
		must(t, err)
		must(t, os.WriteFile(h.layout.Registration(), old, 0o600))
		h.log = nil
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		h.mustBe(first)
		if len(h.log) > 0 {
			t.Errorf("it restarts %v", h.log)
		}
	})
}

// TestASwitchLeavesNothingUnchecked: node-restriction checks leases until the in-tree plugin does.
// It takes them over before the in-tree plugin stops. The same is true for a rollback.
func TestASwitchLeavesNothingUnchecked(t *testing.T) {
	for _, tc := range []struct {
		from, to Profile
		fails    bool
	}{
		{Parity, Hardened, false}, {Hardened, Parity, false}, {Parity, Hardened, true}, {Hardened, Parity, true},
		{Parity, InTree, false},
	} {
		onHost(t, fmt.Sprintf("from %s to %s, failing %v", tc.from, tc.to, tc.fails), func(t *testing.T, h *testHost) {
			must(t, h.installer().Install(t.Context(), options(tc.from)))
			h.unchecked = false
			before := h.snapshot()
			h.kubeadmBroken = tc.fails
			err := h.installer().Install(t.Context(), options(tc.to))
			if (err != nil) != tc.fails {
				t.Fatal(err)
			}
			if tc.fails {
				h.mustBe(before)
			}
			if _, err := h.Process(t.Context()); err != nil || h.unchecked {
				t.Errorf("nobody has checked leases for a while (%v)", err)
			}
			if tc.to == Hardened && !tc.fails && bytes.Contains(read(t, h.layout.Registration()), []byte("leases")) {
				t.Error("ours is still asked about leases")
			}
		})
	}
}

func TestFailingNodeRestrictionIsRolledBack(t *testing.T) {
	for _, tc := range []struct {
		name     string
		spoil    func(*testHost)
		mentions string
	}{
		{"one that does not start", func(h *testHost) { h.broken["node-restriction"] = true }, "out of luck"},
		{"NodeRestriction that denies all writes",
			func(h *testHost) { h.refusesAll = true }, "can no longer report its status"},
	} {
		for _, start := range everyStart {
			onHost(t, tc.name+", "+start.name, func(t *testing.T, h *testHost) {
				start.prepare(t, h)
				before := h.snapshot()
				tc.spoil(h)
				o := options(Hardened)
				o.Image = "example.test/bulkhead:2"
				mentions(t, h.installer().Install(t.Context(), o), tc.mentions)
				h.mustBe(before)
			})
		}
	}
}

// TestAnInstallationWithoutNodeRestrictionGetsIt upgrades from an older version.
func TestAnInstallationWithoutNodeRestrictionGetsIt(t *testing.T) {
	onHost(t, "and loses it again", func(t *testing.T, h *testHost) {
		before := h.snapshot()
		h.onlyAuthorizer()
		must(t, h.installer().Install(t.Context(), options(Parity)))
		if h.fromDisk() == "" {
			t.Error("no webhook is asked")
		}
		must(t, h.installer().Uninstall(t.Context(), options(Parity).Timeout))
		h.mustBe(before)
	})
}

// onlyAuthorizer changes the host to the state that a version without node-restriction left.
func (h *testHost) onlyAuthorizer() {
	h.t.Helper()
	must(h.t, h.installer().Install(h.t.Context(), options(Hardened)))
	record, err := ReadRecord(h.layout)
	must(h.t, err)
	w := wiring(h.layout, Record{Profile: Hardened}, read(h.t, h.layout.AuthorizationConfig()), nil)
	wired, err := apiserver.Wire(h.original, w, apiserver.KubeadmDefault)
	must(h.t, err)
	lines := slices.DeleteFunc(strings.SplitAfter(string(wired), "\n"), func(line string) bool {
		return strings.Contains(line, "--admission-control") || strings.Contains(line, "extend-token") ||
			strings.Contains(line, apiserver.AdmissionHashAnnotation)
	})
	must(h.t, os.WriteFile(h.layout.APIServerManifest(), []byte(strings.Join(lines, "")), 0o600))
	record.APIServer.Written, record.APIServer.Admission = journal.Hash(read(h.t, h.layout.APIServerManifest())),
		apiserver.Before{}.Before
	data, err := record.encode()
	must(h.t, err)
	must(h.t, os.WriteFile(h.layout.Record(), data, 0o600))
	for _, path := range []string{h.layout.NodeRestriction(), h.layout.NodeRestrictionManifest(),
		h.layout.StaticManifests(), h.layout.AdmissionConfig()} {
		must(h.t, os.RemoveAll(path))
	}
	h.kubelet()
}

func TestServerWithoutStaticWebhooks(t *testing.T) {
	onHost(t, "has them from the API, until it is uninstalled", func(t *testing.T, h *testHost) {
		h.version = "v1.36.2"
		before := h.snapshot()
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		object := h.objects[registrationKey]
		if object == nil || !bytes.Equal(bundleOf(object), read(t, h.layout.CA().CertFile)) {
			t.Fatalf("the API has %v", object)
		}
		if config := read(t, h.layout.AdmissionConfig()); bytes.Contains(config, []byte("staticManifestsDir")) {
			t.Errorf("it does not start with\n%s", config)
		}
		first := h.snapshot()
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		h.mustBe(first)
		must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
		h.mustBe(before)
	})
	onHost(t, "is told once every host has node-restriction", func(t *testing.T, h *testHost) {
		h.version, h.bare = "v1.36.2", "cp-1"
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		if h.objects[registrationKey] != nil || !strings.Contains(h.out.String(), "does not run on cp-1") {
			t.Errorf("the API has %v; it says:\n%s", h.objects[registrationKey], &h.out)
		}
		h.bare = ""
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		if h.objects[registrationKey] == nil {
			t.Error("it is not told")
		}
	})
	onHost(t, "that is upgraded has them from disk", func(t *testing.T, h *testHost) {
		h.version = "v1.36.2"
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		h.version = "v1.37.0"
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		if h.objects[registrationKey] != nil || h.fromDisk() == "" {
			t.Errorf("the API has %v, the disk %q", h.objects[registrationKey], h.fromDisk())
		}
	})
	onHost(t, "and is restored has no webhook that it cannot call", func(t *testing.T, h *testHost) {
		h.version = "v1.36.2"
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		in, steps := h.uninstalling()
		restore := slices.IndexFunc(steps, func(s engine.Step) bool { return s.Name == "restore kube-apiserver's manifest" })
		h.unreachable = errors.New("connection refused")
		_, err := in.RunAll(t.Context(), steps[:restore])
		must(t, err)
		h.unreachable = nil
		if h.objects[registrationKey] == nil {
			t.Error("the API lost it without a request")
		}
		_, err = in.RunAll(t.Context(), steps[:restore])
		must(t, err)
		if h.objects[registrationKey] != nil {
			t.Error("the API has it while kube-apiserver restarts without the client certificate")
		}
	})
	onHost(t, "and does not come up is told nothing", func(t *testing.T, h *testHost) {
		h.version, h.refusesAll = "v1.36.2", true
		before := h.snapshot()
		mentions(t, h.installer().Install(t.Context(), options(Hardened)), "rolled back")
		h.mustBe(before)
	})
}

func TestOneRegistrationTrustsTheCAOfEveryHost(t *testing.T) {
	one, two := []byte("-----one-----\n"), []byte("-----two-----\n")
	both := withCA(withCA(nil, one), two)
	if string(both) != "-----one-----\n-----two-----\n" {
		t.Errorf("it is %q", both)
	}
	if again := withCA(both, one); !bytes.Equal(again, both) {
		t.Errorf("a second time it is %q", again)
	}
}
