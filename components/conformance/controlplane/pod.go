// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podSpec returns the spec of a typical web application with a sidecar proxy.
func podSpec(app string) corev1.PodSpec {
	return corev1.PodSpec{
		ServiceAccountName: app,
		DNSPolicy:          corev1.DNSClusterFirst,
		RestartPolicy:      corev1.RestartPolicyAlways,
		SchedulerName:      "default-scheduler",
		Containers:         []corev1.Container{container(app, "server"), container(app, "proxy")},
		Volumes: []corev1.Volume{
			{Name: "settings", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: app + "-settings"},
			}}},
			{
				Name:         "credentials",
				VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: app + "-credentials"}},
			},
			{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{
				Name: "kube-api-access-x7k2p",
				VolumeSource: corev1.VolumeSource{
					Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
						{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}},
						{
							ConfigMap: &corev1.ConfigMapProjection{
								LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
							},
						},
						{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
							{
								Path: "namespace",
								FieldRef: &corev1.ObjectFieldSelector{
									APIVersion: "v1",
									FieldPath:  "metadata.namespace",
								},
							},
						}}},
					}},
				},
			},
		},
	}
}

func container(app, name string) corev1.Container {
	c := corev1.Container{
		Name:                     name,
		Image:                    "registry.example.com/team/" + name + ":v1.2.3",
		ImagePullPolicy:          corev1.PullIfNotPresent,
		TerminationMessagePath:   "/dev/termination-log",
		TerminationMessagePolicy: corev1.TerminationMessageReadFile,
		Args: []string{
			"--listen=0.0.0.0:8080",
			"--log-level=info",
			"--settings=/etc/settings/settings.yaml",
		},
		Ports: []corev1.ContainerPort{
			{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP},
		},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{
				corev1.ResourceCPU:    resource.MustParse("100m"),
				corev1.ResourceMemory: resource.MustParse("128Mi"),
			},
			Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")},
		},
		VolumeMounts: []corev1.VolumeMount{
			{Name: "settings", MountPath: "/etc/settings"}, {Name: "credentials", MountPath: "/etc/credentials"},
			{Name: "kube-api-access-x7k2p", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true},
		},
		Env: []corev1.EnvVar{
			{Name: "DATABASE_PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: app + "-credentials"}, Key: "password",
			}}},
		},
	}
	for i := range 8 {
		c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprintf("SETTING_%d", i), Value: "a value of ordinary length"})
	}
	return c
}

func podStatus() corev1.PodStatus {
	now := metav1.NewTime(time.Unix(1700000000, 0))
	status := corev1.PodStatus{
		Phase:     corev1.PodRunning,
		HostIP:    "192.0.2.1",
		PodIP:     "198.51.100.1",
		StartTime: &now,
		QOSClass:  corev1.PodQOSBurstable,
	}
	for _, condition := range []corev1.PodConditionType{
		"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled",
	} {
		status.Conditions = append(
			status.Conditions,
			corev1.PodCondition{Type: condition, Status: "True", LastTransitionTime: now},
		)
	}
	for _, name := range []string{"server", "proxy"} {
		image := "registry.example.com/team/" + name
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{
			Name:    name,
			Ready:   true,
			Image:   image + ":v1.2.3",
			ImageID: image + "@sha256:" + strings.Repeat("0123456789abcdef", 4),
			ContainerID: "containerd://" + strings.Repeat(
				"fedcba9876543210",
				4,
			),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		})
	}
	return status
}

// managedFields have the size of those of a pod with two writers.
func managedFields() []metav1.ManagedFieldsEntry {
	entry := func(manager string, n int) metav1.ManagedFieldsEntry {
		fields := make([]string, n)
		for i := range fields {
			fields[i] = fmt.Sprintf(`"f:field%d":{".":{},"f:name":{},"f:value":{}}`, i)
		}
		raw := "{" + strings.Join(fields, ",") + "}"
		return metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(raw),
		}
	}
	return []metav1.ManagedFieldsEntry{entry("kube-controller-manager", 30), entry("kubelet", 20)}
}
