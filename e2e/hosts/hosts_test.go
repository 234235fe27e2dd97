// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package hosts_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// installerLease is the lock of the installers of all hosts.
const installerLease = "bulkhead-installer"

// namedFile is a file of Bulkhead in the configuration of kubeadm, once all hosts have it.
const namedFile = "/etc/kubernetes/bulkhead/apiserver/authorization.yaml"

const (
	// hostIsDead is how long a host is dead.
	hostIsDead = 30 * time.Second
	// leavesBalancer bounds the time until the load balancer sends no connection to a dead host. On a slow
	// machine, its checks can be late.
	leavesBalancer = 20 * time.Second
)

// hostProcesses are the processes that a dead host does not have. The kernel shortens names to 15
// characters.
const hostProcesses = "kube-apiserver etcd kube-controller kube-scheduler node-authorizer node-restrictio"

// killHost ends all of a control-plane host's processes at once, as when it loses its power. The container
// of the host stays: the engine could give its address to another one.
func killHost(ctx context.Context, host string) {
	GinkgoHelper()
	DeferCleanup(startHost, host)
	onHost(ctx, host, "systemctl stop kubelet containerd; for p in "+hostProcesses+"; do pkill -9 -x $p; done; "+
		"timeout 10 sh -c 'while pgrep -x \"kube-apiserver|etcd\" >/dev/null; do sleep 0.2; done'")
}

// startHost starts what killHost has stopped.
func startHost(ctx context.Context, host string) {
	GinkgoHelper()
	onHost(ctx, host, "systemctl start containerd kubelet")
}

// before is what the uninstallation must restore.
type before struct {
	kubeadm, objects string
	hosts            map[string]string
}

// hostSettings are what `bulkhead status --cluster` shows of the installation on a host.
type hostSettings struct {
	Version    string `json:"version"`
	Profile    string `json:"profile"`
	Mode       string `json:"mode"`
	Modes      string `json:"modes"`
	ConfigHash string `json:"configHash"`
}

// hostsInStatus returns the settings of all hosts by name, as the status of the cluster shows them on one host.
func hostsInStatus(ctx context.Context, on string) map[string]hostSettings {
	GinkgoHelper()
	var status struct {
		Hosts []struct {
			Node  string       `json:"node"`
			Entry hostSettings `json:"entry"`
		} `json:"hosts"`
	}
	Expect(json.Unmarshal([]byte(onHost(ctx, on, clusterStatus+" --output=json")), &status)).To(Succeed())
	all := map[string]hostSettings{}
	for _, host := range status.Hosts {
		all[host.Node] = host.Entry
	}
	return all
}

// The specs follow an operator through docs/install.md: install on one host after the other, look at
// the cluster, remove on one host after the other. They run in order.
var _ = Describe("a cluster with three control planes", Serial, Ordered, Label(Disruptive, OnHost, OnWorker, Slow),
	func() {
		var (
			hosts   []corev1.Node
			install string
			clients *probers
			saved   = before{hosts: map[string]string{}}
		)

		BeforeAll(func(ctx SpecContext) {
			hosts = findControlPlanes(ctx)
			expectNotInstalled(ctx, hosts)
			install = "bulkhead install --profile=hardened --kubelet-api=false --image=" + componentImage(ctx, hosts[0].Name)
			saved.kubeadm, saved.objects = kubeadmConfig(ctx), bulkheadObjects(ctx, hosts[0].Name)
			for _, host := range hosts {
				saved.hosts[host.Name] = hostState(ctx, host.Name)
			}
			clients = startProbers(ctx)
			DeferCleanup(func(ctx context.Context) {
				clients.end()
				for _, host := range hosts {
					onHost(ctx, host.Name, "bulkhead uninstall 2>&1")
				}
			})
		})

		It("gets kubeadm's configuration when the last host is installed, and not before", func(ctx SpecContext) {
			for i, host := range hosts {
				Expect(kubeadmConfig(ctx)).To(Equal(saved.kubeadm), "with Bulkhead on %d hosts", i)
				begun := time.Now()
				out := onHost(ctx, host.Name, install+" 2>&1")
				GinkgoWriter.Println(out)
				Measured("bulkhead install on host "+fmt.Sprint(i+1), time.Since(begun).Round(time.Second).String())
				for _, missing := range hosts[i+1:] {
					Expect(out).To(ContainSubstring(missing.Name), "the hosts that are missing")
				}
			}
			Expect(kubeadmConfig(ctx)).To(ContainSubstring(namedFile))
		})

		It("denies at each API server what the rules deny", Denies("NA-NODE-1"), func(ctx SpecContext) {
			for _, host := range hosts {
				node := suite.AsNode(suite.Worker).At(address(&host))
				code, message, err := node.Send(ctx, Get(api.Nodes).Named(suite.Worker))
				Expect(fmt.Sprint(code, message, err)).To(Equal("200<nil>"), host.Name)
				code, message, err = node.Send(ctx, Get(api.Nodes).Named(hosts[0].Name))
				Expect(err).NotTo(HaveOccurred())
				Expect(code).To(Equal(403), host.Name)
				Expect(message).To(ContainSubstring("[NA-NODE-1]"), host.Name)
			}
		})

		It("shows all hosts with the same version and settings", func(ctx SpecContext) {
			eventuallyHealthy(ctx, hosts[1].Name)
			shown := hostsInStatus(ctx, hosts[1].Name)
			Expect(shown).To(HaveLen(len(hosts)))
			first := shown[hosts[0].Name]
			Expect(first.Version).NotTo(BeEmpty())
			Expect(first.Profile).To(Equal("hardened"))
			Expect(first.Mode).To(Equal("enforce"))
			Expect(first.ConfigHash).To(MatchRegexp(`^[0-9a-f]{64}$`))
			for _, host := range hosts[1:] {
				Expect(shown).To(HaveKeyWithValue(host.Name, first))
			}
		})

		It("installs again on any host without a change", func(ctx SpecContext) {
			Expect(onHost(ctx, hosts[2].Name, install+" 2>&1")).To(ContainSubstring("Nothing had to be changed"))
		})

		It("refuses to install while another host is being changed", func(ctx SpecContext) {
			holder, seconds, now := hosts[0].Name, int32(300), metav1.NowMicro()
			leases := suite.Client.CoordinationV1().Leases(metav1.NamespaceSystem)
			// A lease of an earlier run may be left.
			_ = leases.Delete(ctx, installerLease, metav1.DeleteOptions{})
			_, err := leases.Create(ctx, &coordinationv1.Lease{
				ObjectMeta: metav1.ObjectMeta{Name: installerLease},
				Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, AcquireTime: &now,
					RenewTime: &now},
			}, metav1.CreateOptions{})
			Expect(err).NotTo(HaveOccurred())
			out, err := suite.Host.Run(ctx, hosts[1].Name, install+" 2>&1")
			Expect(err).To(HaveOccurred(), out)
			Expect(err.Error()).To(ContainSubstring(holder))
			// An installer that was killed does not renew its lease. So the lease expires.
			past := metav1.NewMicroTime(now.Add(-2 * time.Duration(seconds) * time.Second))
			patch, err := json.Marshal(map[string]any{"spec": map[string]any{"acquireTime": past, "renewTime": past}})
			Expect(err).NotTo(HaveOccurred())
			_, err = leases.Patch(ctx, installerLease, types.MergePatchType, patch, metav1.PatchOptions{})
			Expect(err).NotTo(HaveOccurred())
			Expect(onHost(ctx, hosts[1].Name, install+" 2>&1")).To(ContainSubstring("Nothing had to be changed"))
		})

		It("decides while one of its hosts is dead, and again on that host when it is back", Denies("NA-NODE-1"),
			func(ctx SpecContext) {
				clients.end()
				clients.expectNoFailure()
				dead, alive := &hosts[2], hosts[:2]
				during := startProbers(ctx)
				DeferCleanup(during.end)
				killHost(ctx, dead.Name)
				// Another host may have to become etcd's leader first.
				for _, host := range alive {
					expectServing(ctx, host.Name)
				}
				for begun := time.Now(); time.Since(begun) < hostIsDead; time.Sleep(time.Second) {
					for i := range alive {
						expectDecides(ctx, &alive[i])
					}
				}
				startHost(ctx, dead.Name)
				expectServing(ctx, dead.Name)
				eventuallyHealthy(ctx, alive[0].Name)
				expectDecides(ctx, dead)
				during.stop()
				during.running.Wait()
				for _, client := range during.balanced {
					Expect(client.down).To(BeNumerically("<", leavesBalancer), client.String())
				}
				clients = startProbers(ctx)
			})

		It("is removed host by host, and kubeadm's configuration first", Denies("NA-NODE-1"), func(ctx SpecContext) {
			for i, host := range hosts {
				begun := time.Now()
				GinkgoWriter.Println(onHost(ctx, host.Name, "bulkhead uninstall 2>&1"))
				Measured("bulkhead uninstall on host "+fmt.Sprint(i+1), time.Since(begun).Round(time.Second).String())
				Expect(kubeadmConfig(ctx)).To(Equal(saved.kubeadm), "without Bulkhead on %d hosts", i+1)
				for _, other := range hosts[i+1:] {
					code, message, err := suite.AsNode(suite.Worker).At(address(&other)).Send(ctx,
						Get(api.Nodes).Named(hosts[0].Name))
					Expect(err).NotTo(HaveOccurred())
					Expect(code).To(Equal(403))
					Expect(message).To(ContainSubstring("[NA-NODE-1]"), "the rules of "+other.Name)
				}
			}
			for _, host := range hosts {
				Expect(hostState(ctx, host.Name)).To(Equal(saved.hosts[host.Name]), host.Name)
			}
			Expect(bulkheadObjects(ctx, hosts[0].Name)).To(Equal(saved.objects))
		})

		It("had no failed call through the load balancer", func(SpecContext) {
			clients.stop()
			clients.running.Wait()
			clients.expectNoFailure()
		})
	})
