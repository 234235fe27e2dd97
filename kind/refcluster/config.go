// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package refcluster makes, shows and removes the reference cluster: two kind
// nodes into which Bulkhead is installed as it would be in production.
package refcluster

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	"sigs.k8s.io/yaml"
)

// DefaultName is that of the cluster that a person gets who names none, and begins the
// names of its nodes.
const DefaultName = "bulkhead"

// CheckName returns an error for a name that is not [DefaultName] and does not begin with
// it: so all clusters of ours are found again, and nobody else's is taken for one.
func CheckName(name string) error {
	if suffix, ok := strings.CutPrefix(name, DefaultName); !ok || suffix != "" && !clusterSuffix.MatchString(suffix) {
		return fmt.Errorf("a cluster cannot be named %q: take %s, or %s-… with lower-case letters and digits", name,
			DefaultName, DefaultName)
	}
	return nil
}

// clusterSuffix is short: kind makes a host name of it.
var clusterSuffix = regexp.MustCompile(`^-[a-z0-9]{1,20}$`)

//go:embed cluster.yaml
var clusterYAML []byte

// kubeletOnCgroupV1 lets a kubelet start on a host that has not moved to cgroup v2.
const kubeletOnCgroupV1 = `kind: KubeletConfiguration
apiVersion: kubelet.config.k8s.io/v1beta1
failCgroupV1: false
`

// kubeletWithoutSysResource lets a kubelet start where it may not raise limits or
// lower OOM scores.
const kubeletWithoutSysResource = `kind: KubeletConfiguration
apiVersion: kubelet.config.k8s.io/v1beta1
featureGates:
  KubeletInUserNamespace: true
`

// hostTraits are what the machine lacks; the zero value lacks nothing.
type hostTraits struct {
	cgroupV1      bool
	noSysResource bool
}

// patchesInside is where a node sees kubeadm's patches. Only our nodes have it.
const patchesInside = "/etc/kubernetes/patches"

// hostFolders are the folders that the nodes see at the given places.
type hostFolders map[string]string

// clusterConfig is kind's configuration for this host.
func clusterConfig(name string, folders hostFolders, traits hostTraits) (*v1alpha4.Cluster, error) {
	config := &v1alpha4.Cluster{}
	if err := yaml.UnmarshalStrict(clusterYAML, config); err != nil {
		return nil, fmt.Errorf("reading kind/refcluster/cluster.yaml: %w", err)
	}
	config.Name = name
	for i := range config.Nodes {
		for inside, outside := range folders {
			config.Nodes[i].ExtraMounts = append(config.Nodes[i].ExtraMounts, v1alpha4.Mount{
				HostPath: outside, ContainerPath: inside, Readonly: true,
			})
		}
	}
	if traits.cgroupV1 {
		config.KubeadmConfigPatches = append(config.KubeadmConfigPatches, kubeletOnCgroupV1)
	}
	if traits.noSysResource {
		config.KubeadmConfigPatches = append(config.KubeadmConfigPatches, kubeletWithoutSysResource)
	}
	return config, nil
}

// detectTraits looks at the machine that runs the engine. A remote or virtual
// engine's machine is not this one, but then it runs privileged containers.
func detectTraits(privateEngine bool) hostTraits {
	_, err := os.Stat(filepath.Join("/sys/fs/cgroup", "cgroup.controllers"))
	return hostTraits{cgroupV1: os.IsNotExist(err), noSysResource: privateEngine}
}
