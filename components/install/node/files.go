// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package node

import "github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"

// kubeletDropIn is added to the kubelet's configuration. The kubelet asks the API
// server what the proxy may (authorization), but takes no token: a pod with the
// host's network could otherwise bring its own to loopback.
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

const kubeletUnit = `# Written by bulkhead node install: kubeadm's arguments, and one more.
[Service]
Environment="KUBELET_CONFIG_ARGS=ARGS"
`

// renewService may be started as often as files change: a limit would end the watch.
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

// renewPath is about files that kubelet-auth-proxy must not read where they are: beside
// the cluster's client CA may be the key of the cluster, and beside the kubelet's serving
// certificate is its client certificate. Of the latter the directory is watched: the
// kubelet renames another symbolic link over the old one (client-go
// util/certificate/certificate_store.go updateSymlink), and systemd, which follows the
// link, does not see that of the file.
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

// public is a file that everybody may read.
func public(text string) atomicfile.File {
	return atomicfile.File{Data: []byte(text), Mode: 0o644, UID: atomicfile.KeepOwner, GID: atomicfile.KeepOwner}
}
