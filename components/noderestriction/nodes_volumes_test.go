// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func attached(names ...string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		for _, name := range names {
			n.Status.VolumesAttached = append(n.Status.VolumesAttached,
				corev1.AttachedVolume{Name: corev1.UniqueVolumeName(name)})
		}
	}
}

func inUse(names ...string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		for _, name := range names {
			n.Status.VolumesInUse = append(n.Status.VolumesInUse, corev1.UniqueVolumeName(name))
		}
	}
}

func both(first, second func(*corev1.Node)) func(*corev1.Node) {
	return func(n *corev1.Node) { first(n); second(n) }
}

func csiName(handle string) string { return "kubernetes.io/csi/d^" + handle }

func TestVolumesAttached(t *testing.T) {
	const says = notAllowed + "modify status.volumesAttached [NR-VOLUME-1]"
	one := attached(csiName("a"))
	withPath := func(n *corev1.Node) {
		n.Status.VolumesAttached = []corev1.AttachedVolume{{Name: corev1.UniqueVolumeName(csiName("a")),
			DevicePath: "/dev/sdb"}}
	}
	run(t, restrict(aCluster(), enforce("NR-VOLUME-1")), []row{
		{name: "create without volumes: allowed", write: making(unchanged)},
		{name: "create with a volume: denied", write: making(one), by: "NR-VOLUME-1", says: says},
		{name: "update without a change: allowed", write: changing("status", one, one)},
		{name: "add a volume: denied", write: changing("status", unchanged, one), by: "NR-VOLUME-1", says: says},
		{name: "add a volume by an update of the Node: denied", write: changing("", unchanged, one), by: "NR-VOLUME-1",
			says: says},
		{name: "remove a volume: denied", write: changing("status", one, unchanged), by: "NR-VOLUME-1", says: says},
		{name: "another volume: denied", write: changing("status", one, attached(csiName("b"))), by: "NR-VOLUME-1",
			says: says},
		{name: "another path: denied", write: changing("status", one, withPath), by: "NR-VOLUME-1", says: says},
	})
	run(t, restrict(aCluster()), []row{{name: "off", write: changing("status", unchanged, one)}})
}

// withVolumes returns a cluster that has pods with claims on the node me, and one on the node
// other.
func withVolumes() *fakeCluster {
	c := aCluster()
	c.claims, c.volumes = map[string]*corev1.PersistentVolumeClaim{}, map[string]*corev1.PersistentVolume{}
	bind(c, "mine", "a")
	bind(c, "theirs", "theirs")
	uses(c, "default/mine",
		corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "mine"}})
	uses(c, "default/theirs",
		corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "theirs"}})
	return c
}

// bind binds the named claim to a volume of the driver d.
func bind(c *fakeCluster, claim, handle string) {
	c.claims["default/"+claim] = &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: claim, UID: types.UID(claim + "-uid")},
		Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: "pv-" + claim},
	}
	c.volumes["pv-"+claim] = &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pv-" + claim},
		Spec: corev1.PersistentVolumeSpec{
			ClaimRef: &corev1.ObjectReference{Namespace: "default", Name: claim, UID: types.UID(claim + "-uid")},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "d",
				VolumeHandle: handle}},
		},
	}
}

// uses adds a volume to a pod. The name of the volume is v and a number.
func uses(c *fakeCluster, pod string, source corev1.VolumeSource) {
	volumes := &c.pods[pod].Spec.Volumes
	*volumes = append(*volumes, corev1.Volume{Name: fmt.Sprint("v", len(*volumes)), VolumeSource: source})
}

const notInUse = notAllowed + "report volumes in use that are not attached to it and that none of its pods has: "

func TestVolumesInUse(t *testing.T) {
	const by = "NR-VOLUME-2"
	mine, theirs := inUse(csiName("a")), inUse(csiName("theirs"))
	says := notInUse + `"kubernetes.io/csi/d^theirs" [NR-VOLUME-2]`
	run(t, restrict(withVolumes(), enforce(by)), []row{
		{name: "volume of an own pod, before it is attached: allowed", write: changing("status", unchanged, mine)},
		{name: "volume of another node's pod: denied", write: changing("status", unchanged, theirs), by: by, says: says},
		{name: "create with the volume of an own pod: allowed", write: making(mine)},
		{name: "create with the volume of another node's pod: denied", write: making(theirs), by: by, says: says},
		{name: "create with a volume that is reported as attached: denied",
			write: making(both(attached(csiName("theirs")), theirs)), by: by, says: says},
		{name: "attached volume: allowed",
			write: changing("status", attached(csiName("theirs")), both(attached(csiName("theirs")), theirs))},
		{name: "volume that it attaches by the same write: denied",
			write: changing("status", unchanged, both(attached(csiName("theirs")), theirs)), by: by, says: says},
		{name: "volume that was in use: allowed", write: changing("status", theirs, both(mine, theirs))},
		{name: "volume that is unmounted: allowed", write: changing("status", both(mine, theirs), mine)},
		{name: "own volume beside another's: denied", write: changing("status", mine, both(mine, theirs)), by: by,
			says: says},
		{name: "empty name: denied", write: changing("status", unchanged, inUse("")), by: by,
			says: notInUse + `"" [NR-VOLUME-2]`},
		{name: "long name is cut: denied", write: changing("status", unchanged, inUse(string(make([]byte, 100_000)))), by: by,
			says: notInUse + fmt.Sprintf("%.253q", string(make([]byte, 253))) + " [NR-VOLUME-2]"},
	})
	run(t, restrict(withVolumes()), []row{{name: "off", write: changing("status", unchanged, theirs)}})
}

// TestVolumesThatAKubeletDoesNotMount uses claims that only name a volume.
func TestVolumesThatAKubeletDoesNotMount(t *testing.T) {
	const by = "NR-VOLUME-2"
	for name, edit := range map[string]func(*fakeCluster){
		"claim is gone":          func(c *fakeCluster) { delete(c.claims, "default/mine") },
		"claim without a volume": func(c *fakeCluster) { c.claims["default/mine"].Spec.VolumeName = "" },
		"volume is gone":         func(c *fakeCluster) { delete(c.volumes, "pv-mine") },
		"volume without a claim": func(c *fakeCluster) { c.volumes["pv-mine"].Spec.ClaimRef = nil },
		"volume of another claim": func(c *fakeCluster) {
			c.volumes["pv-mine"].Spec.ClaimRef.Name = "theirs"
		},
		"volume of another namespace's claim": func(c *fakeCluster) {
			c.volumes["pv-mine"].Spec.ClaimRef.Namespace = "other"
		},
		"volume of an earlier claim of that name": func(c *fakeCluster) {
			c.volumes["pv-mine"].Spec.ClaimRef.UID = "earlier"
		},
		"pod is on another node": func(c *fakeCluster) { c.pods["default/mine"].Spec.NodeName = "other" },
	} {
		c := withVolumes()
		edit(c)
		run(t, restrict(c, enforce(by)), []row{
			{name: name, write: changing("status", unchanged, inUse(csiName("a"))), by: by,
				says: notInUse + `"kubernetes.io/csi/d^a" [NR-VOLUME-2]`},
		})
	}
}

func TestEphemeralVolumesInUse(t *testing.T) {
	const by = "NR-VOLUME-2"
	c := aCluster()
	c.claims, c.volumes = map[string]*corev1.PersistentVolumeClaim{}, map[string]*corev1.PersistentVolume{}
	bind(c, "mine-v0", "e")
	uses(c, "default/mine", corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}})
	added := changing("status", unchanged, inUse(csiName("e")))
	run(t, restrict(c, enforce(by)), []row{
		{name: "other node's claim: denied", write: added, by: by,
			says: notInUse + `"kubernetes.io/csi/d^e" [NR-VOLUME-2]`},
	})
	c.claims["default/mine-v0"].OwnerReferences = []metav1.OwnerReference{{UID: "mine-uid", Controller: ptr.To(true)}}
	run(t, restrict(c, enforce(by)), []row{{name: "claim of the pod: allowed", write: added}})
}

// TestVolumesOfOtherKindsInUse uses the names that kubelets give to volumes.
func TestVolumesOfOtherKindsInUse(t *testing.T) {
	const by = "NR-VOLUME-2"
	iscsi := &corev1.ISCSIVolumeSource{TargetPortal: "192.0.2.9:3260", IQN: "iqn.2026-01.example:a", Lun: 2}
	fc := &corev1.FCVolumeSource{TargetWWNs: []string{"50060e801049cfd1", "50060e801049cfd2"}, Lun: ptr.To[int32](0)}
	disk := &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-1"}
	for name, tc := range map[string]struct {
		inline     corev1.VolumeSource
		persistent corev1.PersistentVolumeSource
	}{
		"kubernetes.io/iscsi/192.0.2.9:3260:iqn.2026-01.example:a:2": {
			corev1.VolumeSource{ISCSI: iscsi},
			corev1.PersistentVolumeSource{ISCSI: &corev1.ISCSIPersistentVolumeSource{TargetPortal: iscsi.TargetPortal,
				IQN: iscsi.IQN, Lun: iscsi.Lun}},
		},
		"kubernetes.io/fc/[50060e801049cfd1 50060e801049cfd2]:0": {corev1.VolumeSource{FC: fc},
			corev1.PersistentVolumeSource{FC: fc}},
		"kubernetes.io/fc/[w]": {
			corev1.VolumeSource{FC: &corev1.FCVolumeSource{WWIDs: []string{"w"}}},
			corev1.PersistentVolumeSource{FC: &corev1.FCVolumeSource{WWIDs: []string{"w"}}},
		},
		"kubernetes.io/csi/ebs.csi.aws.com^vol-1": {corev1.VolumeSource{AWSElasticBlockStore: disk},
			corev1.PersistentVolumeSource{AWSElasticBlockStore: disk}},
	} {
		added := changing("status", unchanged, inUse(name))
		c := withVolumes()
		run(t, restrict(c, enforce(by)),
			[]row{{name: "of no pod: denied: " + name, write: added, by: by,
				says: notInUse + fmt.Sprintf("%q", name) + " [NR-VOLUME-2]"}})
		uses(c, "default/mine", tc.inline)
		run(t, restrict(c, enforce(by)), []row{{name: "in the pod: allowed: " + name, write: added}})
		c = withVolumes()
		c.volumes["pv-mine"].Spec.PersistentVolumeSource = tc.persistent
		run(t, restrict(c, enforce(by)), []row{{name: "by a claim: allowed: " + name, write: added}})
	}
	c := withVolumes()
	uses(c, "default/mine", corev1.VolumeSource{FlexVolume: &corev1.FlexVolumeSource{Driver: "example.com/x"}})
	c.volumes["pv-mine"].Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{
		FlexVolume: &corev1.FlexPersistentVolumeSource{Driver: "example.com/y"},
	}
	run(t, restrict(c, enforce(by)),
		[]row{{name: "flexvolumes: allowed",
			write: changing("status", unchanged, inUse("example.com/x/v1", "example.com/y/pv-mine"))}})
}

func TestVolumesInUseAreDeniedIfTheLookupFails(t *testing.T) {
	const by = "NR-VOLUME-2"
	failing := withVolumes()
	failing.err = errors.New("timeout")
	run(t, restrict(failing, enforce(by)), []row{
		{name: "unknown", write: changing("status", unchanged, inUse(csiName("a"))), by: by, code: 500,
			says: "timeout [NR-VOLUME-2]"},
		{name: "attached", write: changing("status", attached(csiName("a")),
			both(attached(csiName("a")), inUse(csiName("a"))))},
	})
	failing.err, failing.claimErr = nil, errors.New("timeout")
	run(t, restrict(failing, enforce(by)), []row{
		{name: "claims cannot be read", write: changing("status", unchanged, inUse(csiName("a"))), by: by, code: 500,
			says: "timeout [NR-VOLUME-2]"},
	})
	audited := restrict(withVolumes(), inMode(rules.Audit, "NR-VOLUME-1", by)).Review(t.Context(),
		changing("status", unchanged, both(attached("x"), inUse("x"))))
	if found := audited.Audited(); !audited.Allowed() || len(found) != 2 || found[0] != "NR-VOLUME-1" || found[1] != by {
		t.Errorf("audit: %+v", audited)
	}
}

// Claims are looked up until the time ends. One pod must not use all of it.
func TestClaimsOfPodsAreLookedUpInTurns(t *testing.T) {
	large, small := &corev1.Pod{}, &corev1.Pod{}
	claims := []podClaim{{pod: large, name: "1"}, {pod: large, name: "2"}, {pod: large, name: "3"},
		{pod: small, name: "1"}}
	var got []string
	for _, claim := range inTurns(claims) {
		if claim.pod == small {
			got = append(got, "small "+claim.name)
		} else {
			got = append(got, "large "+claim.name)
		}
	}
	if want := []string{"large 1", "small 1", "large 2", "large 3"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
