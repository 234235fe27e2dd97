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

// secretsOnDisk prints the path and the base64 content of every file on a node that looks like a
// credential. It searches the projected volumes and secrets of pods, and the directories of
// kubeadm, kind, the kubelet, the pod network and Bulkhead. The link to a volume's data is followed
// only as part of a longer path: with fs.protected_symlinks, the kernel does not follow a link
// there at the end of a path.
const secretsOnDisk = `{
  for data in /var/lib/kubelet/pods/*/volumes/kubernetes.io~projected/*/..data ` +
	`/var/lib/kubelet/pods/*/volumes/kubernetes.io~secret/*/..data; do
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

// file is a file that looks like a credential.
type file struct {
	Path string
	Data string
}

// filesOn returns these files of a node.
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

// tokenOf returns a pod's token for the API server, read from the disk of its node.
func tokenOf(ctx context.Context, node string, pod *corev1.Pod) string {
	GinkgoHelper()
	token, err := suite.Host.Run(ctx, node,
		"cat /var/lib/kubelet/pods/"+string(pod.UID)+"/volumes/kubernetes.io~projected/kube-api-access-*/..data/token")
	Expect(err).NotTo(HaveOccurred())
	return strings.TrimSpace(token)
}
