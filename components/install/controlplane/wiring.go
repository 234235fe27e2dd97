// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"github.com/bulkhead-k8s/bulkhead/components/install/admissionflags"
	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
	"github.com/bulkhead-k8s/bulkhead/components/install/kubeadmconfig"
)

// admissionWiring is for Hardened over in-tree NodeRestriction, and with tokens that
// end when they say: what a rule of ours bounds at admission, the API server would
// stretch to a year afterwards.
func admissionWiring(l host.Layout, p Profile, verifyKubelets bool) admissionflags.Wiring {
	return admissionflags.Wiring{
		ConfigFile: l.AdmissionConfig(), Floor: p == Hardened, ExactTokens: p == Hardened,
		KubeletCA: l.KubeCA().CertFile, VerifyKubelets: p == Hardened && verifyKubelets,
	}
}

func wiring(l host.Layout, p Profile, verifyKubelets bool, authorization, admission []byte) apiserver.Wiring {
	return apiserver.Wiring{
		Dir: l.APIServer(), ConfigFile: l.AuthorizationConfig(), ConfigHash: journal.Hash(authorization),
		Admission: admissionWiring(l, p, verifyKubelets), AdmissionHash: journal.Hash(admission),
	}
}

// unwiring is what has to be known to take our edits back, whatever the profile.
func unwiring(l host.Layout) apiserver.Wiring { return wiring(l, InTree, false, nil, nil) }

func kubeadmWiring(l host.Layout, p Profile, verifyKubelets bool) kubeadmconfig.Wiring {
	return kubeadmconfig.Wiring{
		VolumeName: apiserver.VolumeName, Dir: l.APIServer(), ConfigFile: l.AuthorizationConfig(),
		Admission: admissionWiring(l, p, verifyKubelets),
	}
}
