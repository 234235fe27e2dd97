// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bulkhead-k8s/bulkhead/components/install/cluster"
)

// API is the API server on this host.
type API interface {
	Ready(context.Context) error
	Version(context.Context) (string, error)
	Process(context.Context) (cluster.Process, error)
	CanaryDecision(context.Context) (cluster.Decision, error)
	Get(context.Context, *unstructured.Unstructured) (*unstructured.Unstructured, error)
	Apply(context.Context, *unstructured.Unstructured) error
	Delete(context.Context, *unstructured.Unstructured) error
	KubeadmConfig(context.Context) (string, error)
	SetKubeadmConfig(context.Context, string) error
	ReportStatus(ctx context.Context, node string) error
	Annotations(ctx context.Context, namespace string) (all map[string]string, ours []string, err error)
	SetAnnotations(ctx context.Context, namespace string, annotations map[string]string) error
	ComponentNodes(ctx context.Context, component string) ([]string, error)
	ControlPlaneNodes(context.Context) ([]string, error)
	ProxiedNodes(context.Context) ([]string, error)
	MirrorPod(ctx context.Context, name, node string) (*corev1.Pod, error)
}

// Component is one of ours on this host.
type Component interface {
	Ready(context.Context) error
	Start(context.Context) (string, error)
	Tail() string
}

// sayEvery is how long a wait is silent.
const sayEvery = 15 * time.Second

// Installer changes one control-plane host.
type Installer struct {
	Layout  Layout
	Version string
	API     API
	// Authorizer and Restriction are the node authorizer and node-restriction.
	Authorizer, Restriction Component
	// Preflight refuses a host on which an installation with these options would not do
	// what the profile promises.
	Preflight func(context.Context, Options) error
	// Kubelets says which kubelets have no serving certificate of the cluster; nil if
	// all have. Without it, none is taken to have one.
	Kubelets func(context.Context) error
	Out      io.Writer
	Now      func() time.Time
	// Poll is the time between two looks at something that is waited for;
	// Settle is how long a server has to answer before it counts as back.
	Poll, Settle time.Duration
}

func (in *Installer) progress() progress { return progress{out: in.Out, now: in.Now} }

// locked runs change while no other installer can run on this host.
func (in *Installer) locked(change func() error) (err error) {
	lock, err := os.OpenFile(in.Layout.Lock, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("taking the lock: %w", err)
	}
	// Closing releases it; so does the kernel if this process is killed.
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return lockedError{in.Layout.Lock}
	}
	return change()
}

// lockedError says that another installer runs.
type lockedError struct{ lock string }

func (e lockedError) Error() string {
	return fmt.Sprintf("another bulkhead is changing this host (it holds %s): wait until it has ended and run this again",
		e.lock)
}

// patiently is locked, and waits for another installer to end.
func (in *Installer) patiently(ctx context.Context, timeout time.Duration, change func() error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ticker := time.NewTicker(in.Poll)
	defer ticker.Stop()
	for {
		err := in.locked(change)
		if !errors.As(err, &lockedError{}) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-ticker.C:
		}
	}
}

// until polls check until it passes. Whoever reads the error learns what was
// still missing at the end.
func (in *Installer) until(ctx context.Context, timeout time.Duration, what string,
	check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ticker := time.NewTicker(in.Poll)
	defer ticker.Stop()
	var last error
	begin, told := in.Now(), in.Now()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if in.Now().Sub(told) >= sayEvery {
			told = in.Now()
			in.progress().say("  waiting    for %s, %s so far: %v", what, told.Sub(begin).Round(time.Second), err)
		}
		// A check cut short by the deadline says less than the one before.
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return fmt.Errorf("waiting for %s: interrupted: %w", what, context.Canceled)
			}
			return fmt.Errorf("waiting for %s: not within %s: %w", what, timeout, last)
		case <-ticker.C:
		}
	}
}
