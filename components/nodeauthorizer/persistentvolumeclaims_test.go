// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import "testing"

func TestPersistentVolumeClaims(t *testing.T) { run(t, persistentVolumeClaimRows()) }

func persistentVolumeClaimRows() []row {
	const (
		onlyGet    = "can only get individual resources of this type "
		onlyStatus = "can only get/update/patch this type "
		claims     = "persistentvolumeclaims"
		claim      = "my-persistentvolumeclaim"
	)
	return []row{
		{"a claim of its pod may get it", request{Verb: "get", Resource: claims, Namespace: "ns", Name: claim}, allowed,
			"[NA-PVC-1]"},
		{"another claim is refused", request{Verb: "get", Resource: claims, Namespace: "ns", Name: "other"}, refused,
			unrelated + "[NA-PVC-1]"},
		{"a claim without a name is refused", request{Verb: "get", Resource: claims, Namespace: "ns"}, refused,
			"No Object name found [NA-PVC-1]"},
		{"a list of its claim is refused", request{Verb: "list", Resource: claims, Namespace: "ns", Name: claim}, refused,
			onlyGet + "[NA-PVC-1]"},
		{"the update of its claim is refused", request{Verb: "update", Resource: claims, Namespace: "ns", Name: claim},
			refused, onlyGet + "[NA-PVC-1]"},
		{"an unknown subresource of its claim is refused",
			request{Verb: "get", Resource: claims, Subresource: "scale", Namespace: "ns", Name: claim}, refused,
			"cannot get subresource [NA-PVC-1]"},
		{"the patch of an unknown subresource is refused",
			request{Verb: "patch", Resource: claims, Subresource: "scale", Namespace: "ns", Name: claim}, refused,
			onlyGet + "[NA-PVC-1]"},
		{"the update of its claim's status may do so",
			request{Verb: "update", Resource: claims, Subresource: "status", Namespace: "ns", Name: claim}, allowed,
			"[NA-PVC-2]"},
		{"the patch of its claim's status may do so",
			request{Verb: "patch", Resource: claims, Subresource: "status", Namespace: "ns", Name: claim}, allowed,
			"[NA-PVC-2]"},
		{"the patch of another claim's status is refused",
			request{Verb: "patch", Resource: claims, Subresource: "status", Namespace: "ns", Name: "other"}, refused,
			unrelated + "[NA-PVC-2]"},
		{"the patch of a nameless status is refused",
			request{Verb: "patch", Resource: claims, Subresource: "status", Namespace: "ns"}, refused,
			"No Object name found [NA-PVC-2]"},
		{"its claim's status, to read it, is refused",
			request{Verb: "get", Resource: claims, Subresource: "status", Namespace: "ns", Name: claim}, refused,
			onlyStatus + "[NA-PVC-2]"},
		{"the deletion of its claim's status is refused",
			request{Verb: "delete", Resource: claims, Subresource: "status", Namespace: "ns", Name: claim}, refused,
			onlyStatus + "[NA-PVC-2]"},
		{"a volume of its pod's claim may get it",
			request{Verb: "get", Resource: "persistentvolumes", Name: "my-persistentvolume"}, allowed, "[NA-PV-1]"},
		{"another volume is refused", request{Verb: "get", Resource: "persistentvolumes", Name: "other"}, refused,
			unrelated + "[NA-PV-1]"},
		{"all volumes is refused", request{Verb: "list", Resource: "persistentvolumes"}, refused, onlyGet + "[NA-PV-1]"},
		{"the status of its volume is refused",
			request{Verb: "get", Resource: "persistentvolumes", Subresource: "status", Name: "my-persistentvolume"}, refused,
			"cannot get subresource [NA-PV-1]"},
		{"the patch of its volume's status is refused",
			request{Verb: "patch", Resource: "persistentvolumes", Subresource: "status", Name: "my-persistentvolume"}, refused,
			onlyGet + "[NA-PV-1]"},
	}
}

func TestClaimsOfEphemeralVolumes(t *testing.T) { runTwins(t, persistentVolumeClaimTwins()) }

func persistentVolumeClaimTwins() []twins {
	const text = "node 'me' is related to this object only through a claim that its pod does not own"
	claim := func(verb, subresource, name string) request {
		return request{Verb: verb, Resource: "persistentvolumeclaims", Subresource: subresource, Namespace: "ns", Name: name}
	}
	volume := func(name string) request { return request{Verb: "get", Resource: "persistentvolumes", Name: name} }
	secret := func(name string) request {
		return request{Verb: "get", Resource: "secrets", Namespace: "ns", Name: name}
	}
	return []twins{
		{
			name:    "a claim that its pod does not own",
			refused: claim("get", "", "unowned-persistentvolumeclaim"), allowed: claim("get", "", "my-persistentvolumeclaim"),
			by: claimOwned, bare: "[NA-PVC-1]", text: text,
			reads: []string{"me persistentvolumeclaim ns/unowned-persistentvolumeclaim"},
		},
		{
			name:    "the status of a claim that its pod does not own",
			refused: claim("patch", "status", "unowned-persistentvolumeclaim"),
			allowed: claim("patch", "status", "my-persistentvolumeclaim"),
			by:      claimOwned, bare: "[NA-PVC-2]", text: text,
			reads: []string{"me persistentvolumeclaim ns/unowned-persistentvolumeclaim"},
		},
		{
			name:    "the volume of a claim that its pod does not own",
			refused: volume("unowned-persistentvolume"), allowed: volume("my-persistentvolume"),
			by: claimOwned, bare: "[NA-PV-1]", text: text, reads: []string{"me persistentvolume /unowned-persistentvolume"},
		},
		{
			name:    "the secret behind a claim that its pod does not own",
			refused: secret("unowned-secret"), allowed: secret("my-secret"),
			by: claimOwned, bare: "[NA-SECRET-1]", text: text, reads: []string{"me secret ns/unowned-secret"},
		},
	}
}
