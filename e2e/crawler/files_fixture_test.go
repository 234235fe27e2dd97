// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crawler_test

import (
	"context"
	"encoding/base64"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
)

// secretsOnDisk writes every file of a node that looks like a credential: its path and
// what is in it, base64. It looks where pods have their projected volumes and secrets,
// and where kubeadm, kind, the kubelet, the pod network and we keep ours. The link to a
// volume's data is followed as part of a longer path: a kernel with
// fs.protected_symlinks lets nobody follow one that ends a path there.
const secretsOnDisk = `{
  for data in /var/lib/kubelet/pods/*/volumes/kubernetes.io~projected/*/..data /var/lib/kubelet/pods/*/volumes/kubernetes.io~secret/*/..data; do
    if test -d "$data/."; then find "$data/." -type f -size -64k; fi
  done
  for place in /etc/kubernetes /var/lib/kubelet/pki /etc/cni /root/.kube /kind; do
    if test -d "$place"; then find "$place" -type f -size -64k; fi
  done
} | while read -r file; do
  if grep -qE '` + looksSecret + `' "$file"; then echo "$file $(base64 -w0 "$file")"; fi
done
`

const (
	looksSecret    = `^eyJ[A-Za-z0-9_-]+\.eyJ|PRIVATE KEY-----|BEGIN CERTIFICATE|kind: Config$|` + bootstrapToken
	bootstrapToken = `(^|[^a-z0-9.])([a-z0-9]{6}\.[a-z0-9]{16})([^a-z0-9.]|$)`
)

// file is one of those.
type file struct {
	Path string
	Data string
}

// filesOn are those of a node.
func filesOn(ctx context.Context, node string) []file {
	GinkgoHelper()
	out, err := suite.Host.Run(ctx, node, secretsOnDisk)
	Expect(err).NotTo(HaveOccurred())
	return readFiles(out)
}

func readFiles(out string) []file {
	var all []file
	for line := range strings.Lines(out) {
		path, encoded, ok := strings.Cut(strings.TrimSpace(line), " ")
		data, err := base64.StdEncoding.DecodeString(encoded)
		if ok && err == nil {
			all = append(all, file{Path: strings.Replace(path, "/./", "/", 1), Data: string(data)})
		}
	}
	return all
}

// tokenOf is the token of a pod for the API server, off the disk of its node.
func tokenOf(ctx context.Context, node string, pod *corev1.Pod) string {
	GinkgoHelper()
	token, err := suite.Host.Run(ctx, node,
		"cat /var/lib/kubelet/pods/"+string(pod.UID)+"/volumes/kubernetes.io~projected/kube-api-access-*/..data/token")
	Expect(err).NotTo(HaveOccurred())
	return strings.TrimSpace(token)
}
