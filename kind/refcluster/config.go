// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package refcluster creates, shows and removes the reference cluster. It has two kind nodes, or
// several control planes. Bulkhead is installed on them as in production.
package refcluster

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"

	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	"sigs.k8s.io/yaml"

	"github.com/bulkhead-k8s/bulkhead/kind/host"
)

// DefaultName is the name of the cluster if the user gives none. It is also the prefix of the node
// names.
const DefaultName = "bulkhead"

// CheckName returns an error unless the name is [DefaultName] or begins with it. So all clusters of
// this project can be found, and no other cluster is taken for one.
func CheckName(name string) error {
	if suffix, ok := strings.CutPrefix(name, DefaultName); !ok || suffix != "" && !clusterSuffix.MatchString(suffix) {
		return fmt.Errorf("a cluster cannot be named %q: take %s, or %s-… with lower-case letters and digits", name,
			DefaultName, DefaultName)
	}
	return nil
}

// clusterSuffix is short, because kind uses it in a host name.
var clusterSuffix = regexp.MustCompile(`^-[a-z0-9]{1,20}$`)

//go:embed cluster.yaml
var clusterYAML []byte

// kubeletOnCgroupV1 allows a kubelet to start on a host with cgroup v1.
const kubeletOnCgroupV1 = `kind: KubeletConfiguration
apiVersion: kubelet.config.k8s.io/v1beta1
failCgroupV1: false
`

// kubeletWithoutSysResource allows a kubelet to start on a host where it may not raise limits or
// lower OOM scores.
const kubeletWithoutSysResource = `kind: KubeletConfiguration
apiVersion: kubelet.config.k8s.io/v1beta1
featureGates:
  KubeletInUserNamespace: true
`

// hostTraits are what the machine lacks. The zero value means that it lacks nothing.
type hostTraits struct {
	cgroupV1      bool
	noSysResource bool
}

// patchesInside is the path of kubeadm's patches in a node. Only nodes that `make up` created have
// it.
const patchesInside = "/etc/kubernetes/patches"

// hostFolders maps paths in the nodes to folders of the host.
type hostFolders map[string]string

// clusterConfig returns kind's configuration for this host. hardening are further patches of
// kubeadm's configuration.
func clusterConfig(name string, size Size, folders hostFolders, traits hostTraits,
	hardening []string) (*v1alpha4.Cluster, error) {
	config := &v1alpha4.Cluster{}
	if err := yaml.UnmarshalStrict(clusterYAML, config); err != nil {
		return nil, fmt.Errorf("reading kind/refcluster/cluster.yaml: %w", err)
	}
	config.Name = name
	config.Nodes = size.kindNodes()
	for i := range config.Nodes {
		for inside, outside := range folders {
			// An attacker with a worker's disk must not read the key.
			if inside == encryptionInside && config.Nodes[i].Role != v1alpha4.ControlPlaneRole {
				continue
			}
			config.Nodes[i].ExtraMounts = append(config.Nodes[i].ExtraMounts, v1alpha4.Mount{
				HostPath: outside, ContainerPath: inside, Readonly: true,
			})
		}
	}
	config.KubeadmConfigPatches = append(config.KubeadmConfigPatches, hardening...)
	if traits.cgroupV1 {
		config.KubeadmConfigPatches = append(config.KubeadmConfigPatches, kubeletOnCgroupV1)
	}
	if traits.noSysResource {
		config.KubeadmConfigPatches = append(config.KubeadmConfigPatches, kubeletWithoutSysResource)
	}
	var err error
	config.KubeadmConfigPatches, err = joinKubeadmPatches(config.KubeadmConfigPatches)
	return config, err
}

// traitsOf returns what the engine's machine lacks. Only the private engine is for machines without
// CAP_SYS_RESOURCE: any other engine has run a privileged container with all capabilities.
func traitsOf(engine host.Engine) hostTraits {
	return hostTraits{cgroupV1: engine.Info.CgroupV1, noSysResource: engine.Private}
}
