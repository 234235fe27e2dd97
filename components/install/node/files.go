// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package node

import "github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"

// kubeletDropIn is added to the kubelet's configuration. The kubelet asks the API server to
// authorize the proxy's requests. It accepts no tokens: otherwise a pod with the host's network
// could use its own token on loopback.
const kubeletDropIn = `# Written by bulkhead node install. Not to be edited: it is written again.
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: 127.0.0.1
readOnlyPort: 0
authentication:
  anonymous:
    enabled: false
  webhook:
    enabled: false
  x509:
    clientCAFile: CLIENT_CA
authorization:
  mode: Webhook
serverTLSBootstrap: true
`

// kubeletDropInAllow is the drop-in with LoopbackAllow. It sets no authorization, no read-only port
// and no authentication but the clientCAFile, so these stay as the node's own configuration has
// them. The kubelet merges the drop-in field by field (cmd/kubelet/app/server.go
// mergeKubeletConfigurations). A read-only port listens on the same address.
const kubeletDropInAllow = `# Written by bulkhead node install. Not to be edited: it is written again.
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: 127.0.0.1
authentication:
  x509:
    clientCAFile: CLIENT_CA
serverTLSBootstrap: true
`

const kubeletUnit = `# Written by bulkhead node install: kubeadm's arguments, and one more.
[Service]
Environment="KUBELET_CONFIG_ARGS=ARGS"
`

// renewService has no start limit, because files can change often. A start limit would end the
// watch.
const renewService = `# Written by bulkhead node install.
[Unit]
Description=Keep what kubelet-auth-proxy reads as new as it is on this node
StartLimitIntervalSec=0

[Service]
Type=oneshot
ExecStart=PROGRAM node renew --state-dir=STATE
`

const renewTimer = `# Written by bulkhead node install.
[Unit]
Description=Renew the certificate that kubelet-auth-proxy shows the kubelet

[Timer]
OnCalendar=hourly
Persistent=true

[Install]
WantedBy=timers.target
`

// renewPath watches files that kubelet-auth-proxy must not read at their original place. The
// directory of the cluster's client CA may also contain the CA's key. The directory of the
// kubelet's serving certificate also contains the kubelet's client certificate.
//
// For the serving certificate, the unit watches the directory. The kubelet replaces the symbolic
// link by a rename (client-go util/certificate/certificate_store.go updateSymlink). systemd follows
// the link, and does not see that the link itself was replaced.
const renewPath = `# Written by bulkhead node install.
[Unit]
Description=Copy the kubelet's serving certificate and the cluster's client CA for kubelet-auth-proxy

[Path]
PathChanged=CLIENT_CA
PathChanged=DIRECTORY_OF_SERVING
TriggerLimitIntervalSec=0
Unit=bulkhead-node-renew.service

[Install]
WantedBy=paths.target
`

// installUnit is of type simple, so that the start of the kubelet and of the machine does not wait for
// it. It has no order: it waits itself. It has no start limit, because a kubelet can start often.
const installUnit = `# Printed by bulkhead node unit. For a machine image:
# /etc/systemd/system/bulkhead-node-install.service, then
# systemctl enable bulkhead-node-install.service.
[Unit]
Description=Put the kubelet behind kubelet-auth-proxy as soon as this host is a node
StartLimitIntervalSec=0

[Service]
Type=simple
ExecStart=%s
Restart=on-failure
RestartSec=30s
TimeoutStopSec=5min

[Install]
WantedBy=kubelet.service
`

// public is a file that every user may read.
func public(text string) atomicfile.File {
	return atomicfile.File{Data: []byte(text), Mode: 0o644, UID: atomicfile.KeepOwner, GID: atomicfile.KeepOwner}
}
