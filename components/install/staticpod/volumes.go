// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package staticpod

import "slices"

// MountDir shows a directory of the host to the container, read-only, under the
// same path. The directory itself is mounted, not a file in it, so that a
// renamed file is seen.
func (p *Pod) MountDir(name, path string) {
	p.UnmountDir(name, path)
	spec := p.object["spec"].(map[string]any)
	spec["volumes"] = append(p.list("spec", "volumes"), map[string]any{
		"name":     name,
		"hostPath": map[string]any{"path": path, "type": "Directory"},
	})
	mounts, _ := p.containerMap()["volumeMounts"].([]any)
	p.containerMap()["volumeMounts"] = append(mounts, map[string]any{
		"name": name, "mountPath": path, "readOnly": true,
	})
}

// UnmountDir takes back what MountDir did. A volume of any name that shows the
// same path goes too: kubeadm writes it under the name that its configuration has.
func (p *Pod) UnmountDir(name, path string) {
	gone := map[any]bool{name: true}
	spec := p.object["spec"].(map[string]any)
	setOrDrop(spec, "volumes", slices.DeleteFunc(p.list("spec", "volumes"), func(v any) bool {
		volume, _ := v.(map[string]any)
		host, _ := volume["hostPath"].(map[string]any)
		if host["path"] == path {
			gone[volume["name"]] = true
		}
		return gone[volume["name"]]
	}))
	mounts, _ := p.containerMap()["volumeMounts"].([]any)
	setOrDrop(p.containerMap(), "volumeMounts", slices.DeleteFunc(mounts, func(v any) bool {
		mount, _ := v.(map[string]any)
		return gone[mount["name"]]
	}))
}

func setOrDrop(object map[string]any, key string, list []any) {
	if len(list) == 0 {
		delete(object, key)
		return
	}
	object[key] = list
}
