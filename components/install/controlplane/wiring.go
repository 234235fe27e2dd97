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

// admissionWiring returns the admission flags of a profile. Hardened keeps in-tree NodeRestriction
// and sets exact token lifetimes. Otherwise kube-apiserver would extend to a year a token whose
// lifetime a rule of node-restriction has limited at admission. An installation that only audits
// does not set them, because clients that do not read their token again would lose access.
func admissionWiring(l host.Layout, r Record) admissionflags.Wiring {
	return admissionflags.Wiring{
		ConfigFile: l.AdmissionConfig(), Floor: r.Profile == Hardened,
		ExactTokens: r.Profile == Hardened && !r.Extensions.AuditOnly && !r.Extensions.ExtendTokens,
		KubeletCA:   l.KubeCA().CertFile, VerifyKubelets: r.Profile == Hardened && r.VerifyKubelets,
	}
}

func wiring(l host.Layout, r Record, authorization, admission []byte) apiserver.Wiring {
	return apiserver.Wiring{
		Dir: l.APIServer(), ConfigFile: l.AuthorizationConfig(), ConfigHash: journal.Hash(authorization),
		Admission: admissionWiring(l, r), AdmissionHash: journal.Hash(admission),
	}
}

// unwiring returns the data that is needed to undo Bulkhead's edits, in any profile.
func unwiring(l host.Layout) apiserver.Wiring { return wiring(l, Record{Profile: InTree}, nil, nil) }

func kubeadmWiring(l host.Layout, r Record) kubeadmconfig.Wiring {
	return kubeadmconfig.Wiring{
		VolumeName: apiserver.VolumeName, Dir: l.APIServer(), ConfigFile: l.AuthorizationConfig(),
		Admission: admissionWiring(l, r),
	}
}
