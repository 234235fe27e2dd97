// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// prometheus is the Prometheus in the cluster. Requests are sent by curl on the worker, so that they
// do not need the API server.
type prometheus struct {
	cluster *cluster
	// address is the address of the pod.
	address string
}

// query asks the HTTP API of Prometheus, and decodes the field data of its answer.
func (p *prometheus) query(ctx context.Context, path string, parameters map[string]string, data any) error {
	values := url.Values{}
	for name, value := range parameters {
		values.Set(name, value)
	}
	body, err := p.cluster.sh(ctx, p.cluster.worker, fmt.Sprintf("curl -sS --max-time 20 'http://%s:%d/api/v1/%s?%s'",
		p.address, promPort, path, values.Encode()))
	if err != nil {
		return fmt.Errorf("cannot ask Prometheus for %s: %w", path, err)
	}
	answer := struct {
		Status, Error string
		Data          any
	}{Data: data}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		return fmt.Errorf("cannot read the answer of Prometheus for %s: %w", path, err)
	}
	if answer.Status != "success" {
		return fmt.Errorf("cannot ask Prometheus for %s: %s", path, answer.Error)
	}
	return nil
}

// activeAlert is an alert that is pending or firing.
type activeAlert struct {
	Labels map[string]string
	State  string
}

const (
	labelAlert  = "alertname"
	stateFiring = "firing"
)

// alerts returns the alerts that are pending or firing.
func (p *prometheus) alerts(ctx context.Context) ([]activeAlert, error) {
	var data struct{ Alerts []activeAlert }
	err := p.query(ctx, "alerts", nil, &data)
	return data.Alerts, err
}

// sample is a value at a time in seconds since 1970, as Prometheus sends it.
type sample struct {
	at    time.Time
	value float64
}

func (s *sample) UnmarshalJSON(raw []byte) error {
	var seconds float64
	var value string
	if err := json.Unmarshal(raw, &[]any{&seconds, &value}); err != nil {
		return err
	}
	s.at = time.UnixMilli(int64(seconds * 1000))
	var err error
	s.value, err = strconv.ParseFloat(value, 64)
	return err
}

// series is a series of the answer to a query.
type series struct {
	Metric map[string]string
	// Value is set by an instant query, and Values by a range query.
	Value  *sample
	Values []sample
}

// at returns the result of a query at one time.
func (p *prometheus) at(ctx context.Context, query string, at time.Time) ([]series, error) {
	var data struct{ Result []series }
	err := p.query(ctx, "query", map[string]string{"query": query, "time": seconds(at)}, &data)
	return data.Result, err
}

// between returns the results of a query from begin to end.
func (p *prometheus) between(ctx context.Context, query string, begin, end time.Time, step time.Duration) (
	[]series, error) {
	var data struct{ Result []series }
	err := p.query(ctx, "query_range", map[string]string{
		"query": query, "start": seconds(begin), "end": seconds(end), "step": step.String(),
	}, &data)
	return data.Result, err
}

func seconds(at time.Time) string {
	return strconv.FormatFloat(float64(at.UnixMilli())/1000, 'f', 3, 64)
}

// healthy returns an error until each target is up and Prometheus has loaded the rules.
func (p *prometheus) healthy(ctx context.Context) error {
	up, err := p.at(ctx, "up", time.Now())
	if err != nil {
		return err
	}
	jobs := map[string]int{}
	for _, target := range up {
		if target.Value.value != 1 {
			return fmt.Errorf("the target %v is down", target.Metric)
		}
		jobs[target.Metric["job"]]++
	}
	want := map[string]int{
		jobAuthorizer: 1, jobRestriction: 1, jobProxy: 2, jobAPIServer: 1, jobPodStatus: 1,
	}
	for job, number := range want {
		if jobs[job] != number {
			return fmt.Errorf("job %s has %d targets, want %d", job, jobs[job], number)
		}
	}
	var rules struct {
		Groups []struct {
			Rules []struct{ Name, LastError, Health string }
		}
	}
	if err := p.query(ctx, "rules", nil, &rules); err != nil {
		return err
	}
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			if rule.Health != "ok" {
				return fmt.Errorf("rule %s is %s: %s", rule.Name, rule.Health, rule.LastError)
			}
		}
	}
	return nil
}

// reload makes Prometheus read its configuration again.
func reload(ctx context.Context, c *cluster) error {
	return c.onWorker(ctx, "kill -HUP $(pgrep -f ^"+promFolder+"/prometheus)")
}

// removePrometheus removes what deploy has made. It is idempotent.
func removePrometheus(ctx context.Context, c *cluster) error {
	gone := func(err error) error {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	}
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	rbac := c.client.RbacV1()
	for _, err := range []error{
		gone(c.client.CoreV1().Pods(promNamespace).Delete(ctx, promPod, now)),
		gone(c.client.CoreV1().Namespaces().Delete(ctx, promNamespace, metav1.DeleteOptions{})),
		gone(rbac.ClusterRoles().Delete(ctx, promRole, metav1.DeleteOptions{})),
		gone(rbac.ClusterRoleBindings().Delete(ctx, promRole, metav1.DeleteOptions{})),
		gone(rbac.ClusterRoles().Delete(ctx, metricsReader, metav1.DeleteOptions{})),
		gone(rbac.ClusterRoleBindings().Delete(ctx, metricsReader, metav1.DeleteOptions{})),
		c.onWorker(ctx, "rm -rf "+promFolder),
	} {
		if err != nil {
			return fmt.Errorf("cannot remove Prometheus: %w", err)
		}
	}
	return await(ctx, func(ctx context.Context) error {
		_, err := c.client.CoreV1().Namespaces().Get(ctx, promNamespace, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("namespace %s is being deleted (%w)", promNamespace, err)
	})
}

// podUID returns the UID of the pod of Prometheus.
func podUID(ctx context.Context, c *cluster) (string, error) {
	pod, err := c.client.CoreV1().Pods(promNamespace).Get(ctx, promPod, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	return string(pod.UID), nil
}

// running returns an error until all containers of a pod are ready.
func running(pod *corev1.Pod) error {
	for _, status := range pod.Status.ContainerStatuses {
		if !status.Ready {
			return fmt.Errorf("container %s of pod %s is not ready: %v", status.Name, pod.Name, status.State.String())
		}
	}
	if len(pod.Status.ContainerStatuses) == 0 {
		return fmt.Errorf("pod %s has not started", pod.Name)
	}
	return nil
}
