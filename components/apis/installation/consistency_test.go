// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"strings"
	"testing"
)

// invalidFile is the rest of an invalid file, with the beginning of its error, and a valid file beside
// it. The two differ in one place.
type invalidFile struct{ name, good, bad, want string }

func checkRejected(t *testing.T, files []invalidFile) {
	t.Helper()
	for _, tc := range files {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := Parse([]byte(head + tc.good)); err != nil {
				t.Errorf("the valid file: %v", err)
			}
			if _, err := Parse([]byte(head + tc.bad)); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("got %v\nwant %s", err, tc.want)
			}
		})
	}
}

func TestFieldsWithoutEffectAreRejected(t *testing.T) {
	checkRejected(t, []invalidFile{
		{"setting of kubelet-auth-proxy without kubelet-auth-proxy", "kubeletAPI: {enabled: true, nodeSelector: a=b}",
			"kubeletAPI:\n  enabled: false\n  nodeSelector: a=b", "line 5: kubeletAPI.nodeSelector: Forbidden: has no effect " +
				"with kubeletAPI.enabled: false. Remove the field, or set kubeletAPI.enabled: true"},
		{"several settings of kubelet-auth-proxy without kubelet-auth-proxy", "kubeletAPI: {enabled: false}",
			"kubeletAPI:\n  enabled: false\n  loopbackClients: allow\n  authorization: {webhook: {cacheAuthorizedTTL: 0s}}",
			"line 6: kubeletAPI.authorization.webhook.cacheAuthorizedTTL: Forbidden: has no effect with " +
				"kubeletAPI.enabled: false. Remove the field, or set kubeletAPI.enabled: true\n" +
				"line 5: kubeletAPI.loopbackClients: Forbidden: "},
		{"kubelet-auth-proxy in profile parity", "profile: parity\nkubeletAPI: {enabled: false}",
			"profile: parity\nkubeletAPI: {enabled: true}", "line 4: kubeletAPI.enabled: Forbidden: has no effect with " +
				"profile: parity. Remove the field, or set profile: hardened"},
		{"setting of kubelet-auth-proxy in profile parity", "kubeletAPI: {loopbackClients: allow}",
			"profile: parity\nkubeletAPI: {loopbackClients: allow}", "line 4: kubeletAPI.loopbackClients: Forbidden: has no " +
				"effect with profile: parity"},
		{"setting of kubelet-auth-proxy in profile in-tree", "profile: in-tree",
			"profile: in-tree\nkubeletAPI: {loopbackClients: allow}", "line 3: profile: Invalid value: \"in-tree\": has no " +
				"components"},
		{"lifetime of tokens in profile parity", "profile: parity\nserviceAccountTokens: {extendExpiration: false}",
			"profile: parity\nserviceAccountTokens: {extendExpiration: true}",
			"line 4: serviceAccountTokens.extendExpiration: Forbidden: has no effect with profile: parity"},
	})
}

func TestInvalidImageIsRejected(t *testing.T) {
	checkRejected(t, []invalidFile{
		{"image with a space", "image: registry.example:5000/a_b/c--d:V1.0_x", "image: not an image",
			`line 3: image: Invalid value: "not an image": is not the name of an image: use the form ` +
				"registry.example/bulkhead:v1"},
		{"image with a scheme", "image: Registry.example/a@sha256:" + strings.Repeat("0a", 32),
			"image: https://registry.example/a", `line 3: image: Invalid value: "https://registry.example/a"`},
		{"image in capital letters", "image: '[fd00::1]:5000/a:v1@sha256:" + strings.Repeat("0a", 32) + "'",
			"image: registry.example/Bulkhead:v1", `line 3: image: Invalid value: "registry.example/Bulkhead:v1"`},
		{"image with an empty tag", "image: a", "image: 'a:'", `line 3: image: Invalid value: "a:"`},
	})
}

func TestInvalidCertificateTimesAreRejected(t *testing.T) {
	checkRejected(t, []invalidFile{
		{"validity that is shorter than the default of renewBefore", "certificates: {validity: 721h}",
			"certificates:\n  validity: 720h", `line 4: certificates.validity: Invalid value: "720h0m0s": must be more than ` +
				"certificates.renewBefore, which is 720h0m0s by default"},
		{"renewBefore that is longer than the default of validity", "certificates: {renewBefore: 2159h}",
			"certificates:\n  renewBefore: 2160h", `line 4: certificates.renewBefore: Invalid value: "2160h0m0s": must be ` +
				"less than certificates.validity, which is 2160h0m0s by default"},
		{"both times of certificates", "certificates: {validity: 2h, renewBefore: 1h}",
			"certificates: {validity: 1h,\n  renewBefore: 1h}", `line 4: certificates.renewBefore: Invalid value: "1h0m0s": ` +
				"must be less than certificates.validity, which is 1h0m0s"},
		{"renewal that kube-apiserver does not see in time", "certificates: {renewBefore: 6m}",
			"certificates: {renewBefore: 359s}", `line 3: certificates.renewBefore: Invalid value: "5m59s": must be 6m0s`},
		{"certificates and another field", "timeout: 1s", "timeout: 0s\ncertificates: {validity: 720h}",
			`line 4: certificates.validity: Invalid value: "720h0m0s": must be more than certificates.renewBefore, which is ` +
				"720h0m0s by default\nline 3: timeout: "},
	})
}
