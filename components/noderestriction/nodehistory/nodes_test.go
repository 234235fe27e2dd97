// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodehistory

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		m, _ := w.start()
		n := newNode("a", "1", "")
		n.Status.Addresses = []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}, {Type: corev1.NodeInternalIP, Address: "fd00::1"},
			{Type: corev1.NodeHostName, Address: "A.example"},
		}
		n.Status.DaemonEndpoints.KubeletEndpoint.Port = 10250
		for _, name := range []string{"b", "a"} {
			n.Name, n.UID = name, types.UID(name)
			if _, err := w.client.CoreV1().Nodes().Create(context.Background(), n.DeepCopy(),
				metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		w.pass()
		for _, row := range []struct{ address, but, want string }{
			{"10.0.0.1", "", "a"},
			{"10.0.0.1", "a", "b"},
			{"10.0.0.1", "b", "a"},
			{"::ffff:10.0.0.1", "a", "b"},
			{"fd00:0::0001", "a", "b"},
			{"a.EXAMPLE.", "a", "b"},
			{"10.0.0.2", "", ""},
			{"", "", ""},
		} {
			if got, err := m.AddressOwner(context.Background(), row.address, row.but); got != row.want || err != nil {
				t.Errorf("owner of %q but %q is %q, %v; want %q", row.address, row.but, got, err, row.want)
			}
		}
		w.remove("b")
		if got, _ := m.AddressOwner(context.Background(), "10.0.0.1", "a"); got != "" {
			t.Errorf("%q owns the address of a Node that is gone", got)
		}
		got, err := m.LastReported(context.Background(), "b")
		if err != nil || got.KubeletPort != 10250 || len(got.Addresses) != 3 {
			t.Errorf("of a Node that is gone: %+v, %v", got, err)
		}
	})
}

// TestAnEmptyStatusErasesNothing: a new Node without a status keeps the last known addresses. Until
// it reports them, it does not own an address.
func TestAnEmptyStatusErasesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		m, _ := w.start()
		createdAt := func(uid string) time.Time {
			return time.Date(2026, 1, int(uid[0]-'0'), 0, 0, 0, 0, time.UTC)
		}
		at := func(uid string, port int32, addresses ...string) *corev1.Node {
			n := newNode("n", uid, "")
			n.CreationTimestamp = metav1.NewTime(createdAt(uid))
			n.Status.DaemonEndpoints.KubeletEndpoint.Port = port
			for _, address := range addresses {
				n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: address})
			}
			return n
		}
		create := func(n *corev1.Node) {
			t.Helper()
			if _, err := w.client.CoreV1().Nodes().Create(context.Background(), n, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		update := func(n *corev1.Node) {
			t.Helper()
			if _, err := w.client.CoreV1().Nodes().Update(context.Background(), n, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		// reporter is the UID of the Node that has reported.
		expect := func(when, address string, port int32, owner, reporter string) {
			t.Helper()
			got, err := m.LastReported(context.Background(), "n")
			if err != nil || len(got.Addresses) != 1 || got.Addresses[0].Address != address || got.KubeletPort != port {
				t.Errorf("%s: %+v, %v; want %s and %d", when, got, err, address, port)
			}
			if !got.Created.Equal(createdAt(reporter)) || !got.PortCreated.Equal(createdAt(reporter)) {
				t.Errorf("%s: the Node was created at %v, the one with the port at %v, want %v", when, got.Created,
					got.PortCreated, createdAt(reporter))
			}
			if name, err := m.AddressOwner(context.Background(), address, ""); name != owner || err != nil {
				t.Errorf("%s: %s is owned by %q, %v; want %q", when, address, name, err, owner)
			}
		}
		create(at("1", 10250, "10.0.0.1"))
		expect("registered", "10.0.0.1", 10250, "n", "1")
		w.remove("n")
		create(at("2", 0))
		expect("made anew by others, without a status", "10.0.0.1", 10250, "", "1")
		update(at("2", 0))
		expect("and again", "10.0.0.1", 10250, "", "1")
		w.remove("n")
		expect("deleted again", "10.0.0.1", 10250, "", "1")
		create(at("3", 10251, "10.0.0.2"))
		expect("others say where it is now", "10.0.0.2", 10251, "n", "3")
		update(at("3", 0))
		expect("its status is emptied", "10.0.0.2", 10251, "", "3")
	})
}

func TestTheHostnameOutlivesItsNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		m, _ := w.start()
		expect := func(when, want string) {
			t.Helper()
			synctest.Wait()
			if got, err := m.LastReported(context.Background(), "n"); err != nil || got.Hostname != want {
				t.Errorf("%s: %q, %v; want %q", when, got.Hostname, err, want)
			}
		}
		create := func(uid string, labels map[string]string) {
			t.Helper()
			n := newNode("n", uid, "")
			n.Labels = labels
			if _, err := w.client.CoreV1().Nodes().Create(context.Background(), n, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		create("1", map[string]string{corev1.LabelHostname: "a", "other": "x"})
		expect("registered", "a")
		w.remove("n")
		expect("deleted", "a")
		create("2", nil)
		expect("registered again without the label", "a")
		w.remove("n")
		create("3", map[string]string{corev1.LabelHostname: "b"})
		expect("registered with another", "b")
	})
}
