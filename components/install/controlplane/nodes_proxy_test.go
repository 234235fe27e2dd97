// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

const (
	registeredPolicy  = "ValidatingAdmissionPolicy/kubelet-api.bulkhead.dev"
	registeredBinding = policyBinding + "/kubelet-api.bulkhead.dev"
)

// withPolicy returns options with a mode of KA-VAP-1.
func withPolicy(mode string) Options {
	o := options(Hardened)
	o.Extensions.RuleModes = map[string]string{"KA-VAP-1": mode}
	return o
}

// actions returns the actions of the registered policy. It is empty if there is no binding.
func (h *testHost) actions() string {
	h.t.Helper()
	binding := h.objects[registeredBinding]
	if binding == nil {
		return ""
	}
	actions, _, err := unstructured.NestedStringSlice(binding.Object, "spec", "validationActions")
	must(h.t, err)
	if policy, _, _ := unstructured.NestedString(binding.Object, "spec",
		"policyName"); registeredPolicy != "ValidatingAdmissionPolicy/"+policy || h.objects[registeredPolicy] == nil {
		h.t.Errorf("bound is %q of %v", policy, h.objects[registeredPolicy])
	}
	return strings.Join(actions, ",")
}

// A server that does not read policies from disk gets KA-VAP-1 from the API.
func TestAnOlderServerHasThePolicyFromTheAPI(t *testing.T) {
	onHost(t, "1.36, audited, off, enforced, and then 1.37", func(t *testing.T, h *testHost) {
		h.version = "v1.36.2"
		for _, step := range []struct {
			options Options
			want    string
		}{
			{options(Hardened), "Deny"}, {withPolicy("audit"), "Audit"}, {withPolicy("off"), ""},
			{withPolicy("enforce"), "Deny"},
			{saying(false), ""}, {options(Parity), ""}, {saying(true), "Deny"},
		} {
			must(t, h.installer().Install(t.Context(), step.options))
			if got := h.actions(); got != step.want || (h.objects[registeredPolicy] != nil) != (step.want != "") {
				t.Errorf("actions %q, want %q", got, step.want)
			}
		}
		if !strings.Contains(h.out.String(), "so KA-VAP-1 is an object in the API") {
			t.Errorf("it does not say so\n%s", &h.out)
		}
		h.version = "v1.37.1"
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		if h.actions() != "" || h.policiesFromDisk() == "" {
			t.Errorf("1.37 has %q from the API, and %q from disk", h.actions(), h.policiesFromDisk())
		}
	})
	onHost(t, "and not when all is uninstalled", func(t *testing.T, h *testHost) {
		h.version = "v1.36.2"
		before := h.snapshot()
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
		h.mustBe(before)
	})
	onHost(t, "a failure takes it back", func(t *testing.T, h *testHost) {
		h.version, h.kubeadmBroken = "v1.36.2", true
		before := h.snapshot()
		if err := h.installer().Install(t.Context(), options(Hardened)); err == nil {
			t.Error("no error")
		}
		h.mustBe(before)
	})
}

// kube-apiserver starts with the file in every mode. A change of mode needs no restart.
func TestThePolicyOnDiskInEveryMode(t *testing.T) {
	onHost(t, "1.37", func(t *testing.T, h *testHost) {
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		starts := h.starts
		for _, mode := range []struct{ is, want string }{{"audit", "- Audit\n"}, {"enforce", `["Deny"]`},
			{"off", "kind: ValidatingAdmissionPolicy\n"}} {
			must(t, h.installer().Install(t.Context(), withPolicy(mode.is)))
			text := string(read(t, h.layout.KubeletPolicy()))
			if !strings.Contains(text, mode.want) || strings.Contains(text, "kind: "+policyBinding) != (mode.is != "off") {
				t.Errorf("%s:\n%s", mode.is, text)
			}
		}
		if h.starts != starts || len(h.objects) != objectCount(t) {
			t.Errorf("%d restarts, %d objects", h.starts-starts, len(h.objects))
		}
	})
}

// The two policies differ only in their names.
func TestTheRegisteredPolicyIsTheOneFromDisk(t *testing.T) {
	disk, err := nodesProxyPolicy(rules.Enforce)
	must(t, err)
	api, err := registeredNodesProxy(rules.Enforce)
	must(t, err)
	if len(disk) != 2 || len(api) != 2 {
		t.Fatalf("%d and %d objects", len(disk), len(api))
	}
	for i := range disk {
		text, err := disk[i].MarshalJSON()
		must(t, err)
		same, err := api[i].MarshalJSON()
		must(t, err)
		if strings.ReplaceAll(string(text), staticSuffix, registeredSuffix) != string(same) {
			t.Errorf("from disk %s, from the API %s", text, same)
		}
	}
}
