// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"strconv"
)

// testComponent is a component of a testHost.
type testComponent struct {
	h    *testHost
	name string
}

func (c *testComponent) Start(ctx context.Context) (string, error) {
	if err := c.Ready(ctx); err != nil {
		return "", err
	}
	return strconv.Itoa(c.h.components[c.name].starts), nil
}

func (c *testComponent) Tail() string { return "panic: out of luck" }

func (c *testComponent) Ready(context.Context) error {
	c.h.kubelet()
	if c.h.broken[c.name] || len(c.h.components[c.name].manifest) == 0 {
		return errors.New("connection refused")
	}
	return nil
}
