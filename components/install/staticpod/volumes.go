// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"path"
	"slices"
	"strings"
)

// MountDir mounts a host directory in the container, read-only, at the same path. It mounts the
// directory and not a single file. So the container sees a file that is replaced by a rename.
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

// UnmountDir undoes MountDir. It also removes a volume with another name and the same path: kubeadm
// uses the volume name from its configuration.
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

// HostPath returns the host's path of a file that the container sees at inside. It is empty if the
// file is not on a volume of the host: then a file of the host with this path is another one.
func (p *Pod) HostPath(inside string) string {
	inside = path.Clean("/" + inside)
	mounts, _ := p.containerMap()["volumeMounts"].([]any)
	deepest, found := "", ""
	for _, m := range mounts {
		mount, _ := m.(map[string]any)
		at, _ := mount["mountPath"].(string)
		at = path.Clean("/" + at)
		rest, below := strings.CutPrefix(inside+"/", strings.TrimSuffix(at, "/")+"/")
		if !below || len(at) < len(deepest) {
			continue
		}
		// The deepest mount has the file, whatever its volume is.
		deepest, found = at, ""
		directory := p.volumePath(mount["name"])
		part, _ := mount["subPath"].(string)
		if expanded, _ := mount["subPathExpr"].(string); directory != "" && expanded == "" {
			found = path.Join(directory, part, rest)
		}
	}
	return found
}

// volumePath returns the directory of a volume of the host. It is empty for other volumes.
func (p *Pod) volumePath(name any) string {
	for _, v := range p.list("spec", "volumes") {
		volume, _ := v.(map[string]any)
		if volume["name"] == name {
			host, _ := volume["hostPath"].(map[string]any)
			directory, _ := host["path"].(string)
			return directory
		}
	}
	return ""
}

func setOrDrop(object map[string]any, key string, list []any) {
	if len(list) == 0 {
		delete(object, key)
		return
	}
	object[key] = list
}
