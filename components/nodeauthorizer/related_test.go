// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import "testing"

func TestSecrets(t *testing.T)    { run(t, secretRows()) }
func TestConfigMaps(t *testing.T) { run(t, configMapRows()) }
func TestRelated(t *testing.T)    { run(t, relatedRows()) }

func secretRows() []row {
	const onlyRead = "can only read resources of this type "
	return []row{
		{"a secret of its pod may get it", request{Verb: "get", Resource: "secrets", Namespace: "ns", Name: "my-secret"},
			allowed, "[NA-SECRET-1]"},
		{"another secret is refused", request{Verb: "get", Resource: "secrets", Namespace: "ns", Name: "other"}, refused,
			unrelated + "[NA-SECRET-1]"},
		{"a namesake in another namespace is refused",
			request{Verb: "get", Resource: "secrets", Namespace: "other", Name: "my-secret"}, refused,
			unrelated + "[NA-SECRET-1]"},
		{"a secret named like its config map is refused",
			request{Verb: "get", Resource: "secrets", Namespace: "ns", Name: "my-configmap"}, refused,
			unrelated + "[NA-SECRET-1]"},
		{"a secret without a name is refused", request{Verb: "get", Resource: "secrets", Namespace: "ns"}, refused,
			"No Object name found [NA-SECRET-1]"},
		{"a secret without a namespace is refused", request{Verb: "get", Resource: "secrets", Name: "my-secret"}, refused,
			"can only read namespaced object of this type [NA-SECRET-1]"},
		{"a subresource of a secret is refused",
			request{Verb: "get", Resource: "secrets", Subresource: "status", Namespace: "ns", Name: "my-secret"}, refused,
			"cannot read subresource [NA-SECRET-1]"},
		{"the creation of a secret is refused", request{Verb: "create", Resource: "secrets", Namespace: "ns"}, refused,
			onlyRead + "[NA-SECRET-1]"},
		{"the update of its pod's secret is refused",
			request{Verb: "update", Resource: "secrets", Namespace: "ns", Name: "my-secret"}, refused,
			onlyRead + "[NA-SECRET-1]"},
		{"the deletion of its pod's secret is refused",
			request{Verb: "delete", Resource: "secrets", Namespace: "ns", Name: "my-secret"}, refused,
			onlyRead + "[NA-SECRET-1]"},
		{"no verb at all is refused", request{Resource: "secrets", Namespace: "ns", Name: "my-secret"}, refused,
			onlyRead + "[NA-SECRET-1]"},
		{"a verb in capitals is refused", request{Verb: "GET", Resource: "secrets", Namespace: "ns", Name: "my-secret"},
			refused, onlyRead + "[NA-SECRET-1]"},
		{"a list of one secret by name may have it",
			request{Verb: "list", Resource: "secrets", Namespace: "ns", Name: "my-secret"}, allowed, "[NA-SECRET-2]"},
		{"a watch of one secret by name may have it",
			request{Verb: "watch", Resource: "secrets", Namespace: "ns", Name: "my-secret"}, allowed, "[NA-SECRET-2]"},
		{"a list of another secret by name is refused",
			request{Verb: "list", Resource: "secrets", Namespace: "ns", Name: "other"}, refused, unrelated + "[NA-SECRET-2]"},
		{"a list of the secrets of a namespace is refused", request{Verb: "list", Resource: "secrets", Namespace: "ns"},
			refused, "No Object name found [NA-SECRET-2]"},
		{"a watch of the secrets of the cluster is refused", request{Verb: "watch", Resource: "secrets"}, refused,
			"can only read namespaced object of this type [NA-SECRET-2]"},
		{"secrets of another group is refused",
			request{Verb: "get", APIGroup: "example.com", Resource: "secrets", Namespace: "ns", Name: "my-secret"}, refused,
			"no rule allows a node to get secrets.example.com [NA-DEFAULT]"},
	}
}

func configMapRows() []row {
	const onlyRead = "can only read resources of this type "
	return []row{
		{"a config map of its pod may get it",
			request{Verb: "get", Resource: "configmaps", Namespace: "ns", Name: "my-configmap"}, allowed, "[NA-CM-1]"},
		{"another config map is refused", request{Verb: "get", Resource: "configmaps", Namespace: "ns", Name: "other"},
			refused, unrelated + "[NA-CM-1]"},
		{"a config map named like its secret is refused",
			request{Verb: "get", Resource: "configmaps", Namespace: "ns", Name: "my-secret"}, refused, unrelated + "[NA-CM-1]"},
		{"a config map without a name is refused", request{Verb: "get", Resource: "configmaps", Namespace: "ns"}, refused,
			"No Object name found [NA-CM-1]"},
		{"a config map without a namespace is refused", request{Verb: "get", Resource: "configmaps", Name: "my-configmap"},
			refused, "can only read namespaced object of this type [NA-CM-1]"},
		{"a subresource of a config map is refused",
			request{Verb: "get", Resource: "configmaps", Subresource: "x", Namespace: "ns", Name: "my-configmap"}, refused,
			"cannot read subresource [NA-CM-1]"},
		{"the patch of its pod's config map is refused",
			request{Verb: "patch", Resource: "configmaps", Namespace: "ns", Name: "my-configmap"}, refused,
			onlyRead + "[NA-CM-1]"},
		{"a list of one config map by name may have it",
			request{Verb: "list", Resource: "configmaps", Namespace: "ns", Name: "my-configmap"}, allowed, "[NA-CM-2]"},
		{"a watch of one config map by name may have it",
			request{Verb: "watch", Resource: "configmaps", Namespace: "ns", Name: "my-configmap"}, allowed, "[NA-CM-2]"},
		{"a watch of another config map by name is refused",
			request{Verb: "watch", Resource: "configmaps", Namespace: "ns", Name: "other"}, refused, unrelated + "[NA-CM-2]"},
		{"a list of the config maps of a namespace is refused",
			request{Verb: "list", Resource: "configmaps", Namespace: "ns"}, refused, "No Object name found [NA-CM-2]"},
	}
}

func relatedRows() []row {
	const onlyGet = "can only get individual resources of this type "
	return []row{
		{"a claim of its pod may get it",
			request{Verb: "get", APIGroup: "resource.k8s.io", Resource: "resourceclaims", Namespace: "ns",
				Name: "my-resourceclaim"}, allowed, "[NA-CLAIM-1]"},
		{"another claim is refused",
			request{Verb: "get", APIGroup: "resource.k8s.io", Resource: "resourceclaims", Namespace: "ns", Name: "other"},
			refused, unrelated + "[NA-CLAIM-1]"},
		{"a claim without a name is refused",
			request{Verb: "get", APIGroup: "resource.k8s.io", Resource: "resourceclaims", Namespace: "ns"}, refused,
			"No Object name found [NA-CLAIM-1]"},
		{"all claims is refused", request{Verb: "list", APIGroup: "resource.k8s.io", Resource: "resourceclaims"}, refused,
			onlyGet + "[NA-CLAIM-1]"},
		{"the status of its claim is refused",
			request{Verb: "get", APIGroup: "resource.k8s.io", Resource: "resourceclaims", Subresource: "status", Namespace: "ns",
				Name: "my-resourceclaim"}, refused, "cannot get subresource [NA-CLAIM-1]"},
		{"an attachment to it may get it",
			request{Verb: "get", APIGroup: "storage.k8s.io", Resource: "volumeattachments", Name: "my-volumeattachment"},
			allowed, "[NA-VA-1]"},
		{"another attachment is refused",
			request{Verb: "get", APIGroup: "storage.k8s.io", Resource: "volumeattachments", Name: "other"}, refused,
			unrelated + "[NA-VA-1]"},
		{"the patch of its attachment is refused",
			request{Verb: "patch", APIGroup: "storage.k8s.io", Resource: "volumeattachments", Name: "my-volumeattachment"},
			refused, onlyGet + "[NA-VA-1]"},
		{"a watch of its attachment is refused",
			request{Verb: "watch", APIGroup: "storage.k8s.io", Resource: "volumeattachments", Name: "my-volumeattachment"},
			refused, onlyGet + "[NA-VA-1]"},
		{"the status of its attachment is refused",
			request{Verb: "get", APIGroup: "storage.k8s.io", Resource: "volumeattachments", Subresource: "status",
				Name: "my-volumeattachment"}, refused, "cannot get subresource [NA-VA-1]"},
	}
}
