// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ipv6Loopback is an address on which a kubelet behind its proxy never listens.
const ipv6Loopback = "[::1]:10250"

var (
	loopbackAddress = regexp.MustCompile(`(?i)(?:127\.0\.0\.1|\blocalhost):10250\b`)
	// useKubelet is a setting of Fluent Bit's filter kubernetes, in its own format and in YAML.
	useKubelet = regexp.MustCompile(`(?im)^[\s-]*use_kubelet\b[\s:"']*(?:on|true|yes)\b`)
	// kubeletHost is the address that the filter uses. Its default is 127.0.0.1.
	kubeletHost         = regexp.MustCompile(`(?im)^[\s-]*kubelet_host\b[\s:"']*\S`)
	kubeletHostLoopback = regexp.MustCompile(`(?im)^[\s-]*kubelet_host\b[\s:"']*(?:127\.0\.0\.1|localhost)`)
	kubeletHostIPv6     = regexp.MustCompile(`(?im)^[\s-]*kubelet_host\b[\s:"'\[]*::1\b`)
)

// loopbackIn returns the setting in the text that lets a program connect to the kubelet on the
// loopback address. It is empty if there is none.
func loopbackIn(text string) string {
	if address := loopbackAddress.FindString(text); address != "" {
		return address
	}
	if useKubelet.MatchString(text) && (!kubeletHost.MatchString(text) || kubeletHostLoopback.MatchString(text)) {
		return "Use_Kubelet"
	}
	return ""
}

// ipv6LoopbackIn returns ipv6Loopback if the text lets a program connect to it.
func ipv6LoopbackIn(text string) string {
	if strings.Contains(text, ipv6Loopback) || useKubelet.MatchString(text) && kubeletHostIPv6.MatchString(text) {
		return ipv6Loopback
	}
	return ""
}

// configMaps reads each ConfigMap once.
type configMaps struct {
	in Input
	// texts has the values of each ConfigMap, by namespace and name, in the order of their keys.
	texts map[string][]string
	// skipped is the number of ConfigMaps beyond mostConfigMaps.
	skipped int
}

// loopbackIn returns what names the loopback address in a pod, and where. If the pod has both addresses,
// it returns 127.0.0.1: the next run finds [::1].
func (c *configMaps) loopbackIn(ctx context.Context, pod *corev1.Pod) (string, error) {
	place, err := c.find(ctx, pod, loopbackIn)
	if place == "" && err == nil {
		place, err = c.find(ctx, pod, ipv6LoopbackIn)
	}
	return place, err
}

// find looks for a setting in a pod. The ConfigMaps come last, because each needs a request.
func (c *configMaps) find(ctx context.Context, pod *corev1.Pod, setting func(string) string) (string, error) {
	names := map[string]bool{}
	for _, container := range containersOf(&pod.Spec) {
		for _, text := range slices.Concat(container.Command, container.Args) {
			if match := setting(text); match != "" {
				return fmt.Sprintf("the command of container %s has %s", container.Name, match), nil
			}
		}
		for _, env := range container.Env {
			if match := setting(env.Value); match != "" {
				return fmt.Sprintf("env %s of container %s has %s", env.Name, container.Name, match), nil
			}
		}
		addConfigMapsOfEnv(container, names)
	}
	addConfigMapsOfVolumes(pod.Spec.Volumes, names)
	delete(names, rootCA)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		texts, err := c.read(ctx, pod.Namespace, name)
		if err != nil {
			return "", err
		}
		for _, text := range texts {
			if match := setting(text); match != "" {
				return fmt.Sprintf("ConfigMap %s has %s", name, match), nil
			}
		}
	}
	return "", nil
}

func (c *configMaps) read(ctx context.Context, namespace, name string) ([]string, error) {
	key := namespace + "/" + name
	if texts, known := c.texts[key]; known {
		return texts, nil
	}
	c.texts[key] = nil
	if len(c.texts) > mostConfigMaps {
		c.skipped++
		return nil, nil
	}
	config, err := c.in.Client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read ConfigMap %s: %w", key, err)
	}
	for _, file := range slices.Sorted(maps.Keys(config.Data)) {
		c.texts[key] = append(c.texts[key], config.Data[file])
	}
	return c.texts[key], nil
}

// containersOf does not return ephemeral containers, because these are for debugging.
func containersOf(spec *corev1.PodSpec) []corev1.Container {
	return slices.Concat(spec.InitContainers, spec.Containers)
}

func addConfigMapsOfEnv(container corev1.Container, names map[string]bool) {
	for _, from := range container.EnvFrom {
		if from.ConfigMapRef != nil {
			names[from.ConfigMapRef.Name] = true
		}
	}
	for _, env := range container.Env {
		if env.ValueFrom != nil && env.ValueFrom.ConfigMapKeyRef != nil {
			names[env.ValueFrom.ConfigMapKeyRef.Name] = true
		}
	}
}

func addConfigMapsOfVolumes(volumes []corev1.Volume, names map[string]bool) {
	for _, volume := range volumes {
		if volume.ConfigMap != nil {
			names[volume.ConfigMap.Name] = true
		}
		if volume.Projected == nil {
			continue
		}
		for _, source := range volume.Projected.Sources {
			if source.ConfigMap != nil {
				names[source.ConfigMap.Name] = true
			}
		}
	}
}
