// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bulkhead-k8s/bulkhead/components/install/engine"
)

// followCluster sets KubeletAPI on a host where the user has never set it. All control-plane hosts
// share one DaemonSet, so the host does what the cluster does. The first host uses the default of
// the profile.
func (p *plan) followCluster(ctx context.Context) error {
	if p.KubeletAPI != nil || p.Profile != Hardened {
		return nil
	}
	there, err := p.proxyInCluster(ctx)
	if err != nil {
		return fmt.Errorf("looking for kubelet-auth-proxy in the cluster: %w", err)
	}
	others, err := p.elsewhere(ctx)
	if err != nil {
		return err
	}
	p.KubeletAPI = new(there || others == "")
	switch {
	case there && p.before == nil:
		p.Note("kubelet-auth-proxy is in this cluster already: this host goes on as with --kubelet-api. To give " +
			"it up in the whole cluster, run `bulkhead install --kubelet-api=false`")
	case !there && others != "":
		p.Note("Bulkhead runs on %s without kubelet-auth-proxy: this host goes on as with "+
			"--kubelet-api=false. To guard the kubelets, run `bulkhead install --kubelet-api` on every control-plane host",
			others)
	}
	return nil
}

func (p *plan) proxyInCluster(ctx context.Context) (bool, error) {
	objects, err := proxyObjects()
	if err != nil {
		return false, err
	}
	for _, object := range objects {
		if object.GetKind() != "DaemonSet" {
			continue
		}
		have, err := p.Objects.Get(ctx, object)
		if have != nil || err != nil {
			return have != nil, err
		}
	}
	return false, nil
}

// stopProxy removes kubelet-auth-proxy and its other objects, if they exist. It affects all hosts,
// so if other hosts run Bulkhead, the user must set --kubelet-api=false. A proxy that is in front
// of a kubelet stays until the kubelet has its own address again. Otherwise the kubelet would be
// unreachable.
func (p *plan) stopProxy(ctx context.Context) (changed bool, err error) {
	there, err := p.guardsInCluster(ctx)
	if err != nil || len(there) == 0 {
		return false, err
	}
	if !p.givesUpKubelets() {
		others, err := p.elsewhere(ctx)
		if err != nil {
			return false, err
		}
		if others != "" {
			p.Note("Bulkhead runs on %s too: kubelet-auth-proxy stays on the nodes. To give it up in the "+
				"whole cluster, run `bulkhead install --kubelet-api=false`", others)
			return false, nil
		}
	}
	if behind, err := p.behindProxies(ctx); err != nil || behind != "" {
		p.noteBehind(behind, "this")
		return false, err
	}
	return p.dropAll(ctx, there)
}

// behindProxies returns the nodes whose kubelets can be reached only through their proxy.
func (in *Installer) behindProxies(ctx context.Context) (string, error) {
	nodes, err := in.Nodes.ProxiedNodes(ctx)
	if err != nil {
		return "", fmt.Errorf("looking for kubelets behind their proxies: %w", err)
	}
	return strings.Join(nodes, ", "), nil
}

// noteBehind tells the user what to do before the command again can remove the proxies.
func (in *Installer) noteBehind(nodes, again string) {
	if nodes == "" {
		return
	}
	in.Note("kubelet-auth-proxy serves the kubelets of %s, and stays with its rights until they listen "+
		"on their own addresses again:\n             run `bulkhead node uninstall` on the host of each, then %s again", nodes,
		again)
}

// guardsInCluster returns the objects that exist only in a cluster with kubelet-auth-proxy.
// Workloads come before their rights.
func (in *Installer) guardsInCluster(ctx context.Context) (there []*unstructured.Unstructured, err error) {
	objects, err := guards()
	if err != nil {
		return nil, err
	}
	for _, object := range objects {
		have, err := in.Objects.Get(ctx, object)
		if err != nil {
			return nil, err
		}
		if have != nil {
			there = append(there, have)
		}
	}
	return there, nil
}

// guards returns the manifests of the objects that exist only in a cluster with kubelet-auth-proxy.
// It does not return the policy for nodes/proxy.
func guards() ([]*unstructured.Unstructured, error) {
	objects, err := proxyObjects()
	if err != nil {
		return nil, err
	}
	guard, err := guardObjects()
	return append(objects, guard...), err
}

// dropObject deletes an object that the new profile does not have.
func (p *plan) dropObject(ctx context.Context, have *unstructured.Unstructured) error {
	before, err := essence(have)
	if err != nil {
		return err
	}
	if err := p.journal.Object(objectRBAC+have.GetKind()+"/"+have.GetName(), before); err != nil {
		return err
	}
	return p.Objects.Delete(ctx, have)
}

// deleteGuards deletes the proxies of all nodes and their rights. It deletes nothing if another
// host runs Bulkhead, or if a proxy is in front of its kubelet. In the second case, `bulkhead node
// uninstall` must run first. Otherwise the kubelet would be unreachable.
func (in *Installer) deleteGuards(ctx context.Context) (changed bool, err error) {
	there, err := in.guardsInCluster(ctx)
	if err != nil || len(there) == 0 {
		return false, err
	}
	others, err := in.elsewhere(ctx)
	if err != nil || others != "" {
		return false, err // deleteObjects prints the reason
	}
	behind, err := in.behindProxies(ctx)
	if err != nil || behind != "" {
		in.noteBehind(behind, "`bulkhead uninstall`")
		return false, err
	}
	for _, object := range there {
		if err := in.Objects.Delete(ctx, object); err != nil {
			return changed, fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
		changed = true
	}
	return changed, nil
}

// uninstallLeftovers runs on a host without any of Bulkhead's files. The cluster may still have
// objects, if kubelets were behind their proxies when the last host was uninstalled.
func (in *Installer) uninstallLeftovers(ctx context.Context) error {
	listed, err := in.removeStaleEntry(ctx)
	if err != nil {
		return err
	}
	left, err := in.onlyGuardsAreLeft(ctx)
	switch {
	case err != nil:
		in.Note("whether kubelet-auth-proxy is still in the cluster could not be seen: %v", err)
	case left:
		_, err := in.Run(ctx, engine.Step{Name: "remove kubelet-auth-proxy from the nodes", Apply: in.deleteGuards})
		return err
	case listed:
		return nil
	}
	in.Logf("Nothing had to be changed: nothing of Bulkhead is on this host.")
	return nil
}

// onlyGuardsAreLeft is false if another host in the cluster runs Bulkhead's components.
func (in *Installer) onlyGuardsAreLeft(ctx context.Context) (bool, error) {
	there, err := in.guardsInCluster(ctx)
	if err != nil || len(there) == 0 {
		return false, err
	}
	objects, err := apiObjects()
	if err != nil {
		return false, err
	}
	for _, object := range objects {
		have, err := in.Objects.Get(ctx, object)
		if err != nil || have != nil {
			return false, err
		}
	}
	return true, nil
}
