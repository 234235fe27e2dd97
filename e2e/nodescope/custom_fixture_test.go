// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	customGroup = "e2e.bulkhead.dev"
	nodeLabel   = "e2e.bulkhead.dev/node"
	// declared says that a widget names its node in a field, and a gadget in a label.
	declared = "--node-scope-custom-resources=" + widgets + "=field:spec.node," + gadgets + "=label:" + nodeLabel
	// redeployed bounds the restart of a static pod with another argument.
	redeployed = 2 * time.Minute
)

func customResource(plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: customGroup, Version: "v1", Resource: plural}
}

var (
	theWidgets = customResource("widgets")
	theGadgets = customResource("gadgets")
)

// declare restarts both components with the declaration of the resources, until the end of the
// container.
func declare(ctx context.Context) {
	GinkgoHelper()
	for _, c := range []component{authorizer, restriction} {
		DeferCleanup(c.restore)
		c.rewrite(ctx)
	}
}

// rewrite adds the declaration to a component's arguments, after --node-scope. It writes the new
// file outside of the manifest directory, because the kubelet reads every file in that directory.
func (c component) rewrite(ctx context.Context) {
	GinkgoHelper()
	edit := `/^ *- --node-scope-custom-resources=/d; s|^\( *\)- --node-scope\(=true\)\{0,1\}$|&\n\1- ` + declared + `|`
	suite.OnControlPlane(ctx,
		fmt.Sprintf("cp -p %[1]s %[2]s && cp -p %[1]s %[2]s.new && sed '%[3]s' %[2]s >%[2]s.new && grep -q -e %[4]s "+
			"%[2]s.new && mv %[2]s.new %[1]s",
			c.manifest, c.aside(), edit, declared))
	awaitScopeWebhook(ctx, redeployed, c.isWith(declared)+" && "+c.ready)
}

// isWith returns a command that succeeds if the process has the argument.
func (c component) isWith(argument string) string {
	return "tr '\\0' '\\n' </proc/$(" + c.process + ")/cmdline | grep -q -x -e '" + argument + "'"
}

func (c component) restore(ctx context.Context) {
	GinkgoHelper()
	suite.OnControlPlane(ctx, fmt.Sprintf("test ! -e %[2]s || mv %[2]s %[1]s; rm -f %[2]s.new", c.manifest, c.aside()))
	awaitScopeWebhook(ctx, redeployed, c.process+" >/dev/null && ! "+c.isWith(declared)+" && "+c.ready)
}

// define creates the resources and one object of each for each node. It grants node-authorizer the
// right to read them. All of this lasts until the end of the container.
func define(ctx context.Context) {
	GinkgoHelper()
	suite.Env().Grant(ctx, authorizerUser, rbacv1.PolicyRule{
		Verbs: []string{"get"}, APIGroups: []string{customGroup},
		Resources: []string{theWidgets.Resource, theGadgets.Resource},
	})
	for _, r := range []schema.GroupVersionResource{theWidgets, theGadgets} {
		DeferCleanup(func(ctx context.Context) error {
			return suite.Client.Discovery().RESTClient().Delete().AbsPath(definitions + "/" + r.GroupResource().String()).Do(
				ctx).Error()
		})
		Expect(post(ctx, definitions, definition(r))).To(Succeed())
		for _, where := range []place{own, other} {
			path := fmt.Sprintf("/apis/%s/%s/namespaces/%s/%s", r.Group, r.Version, stage.Namespace, r.Resource)
			Eventually(ctx, func() error { return post(ctx, path, objectOf(r, where())) }).WithTimeout(Soon).WithPolling(
				200 * time.Millisecond).Should(Succeed())
		}
	}
}

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

func post(ctx context.Context, path string, object fields) error {
	body, err := json.Marshal(object)
	if err != nil {
		return err
	}
	return suite.Client.Discovery().RESTClient().Post().AbsPath(path).SetHeader("Content-Type",
		"application/json").Body(body).Do(ctx).Error()
}

func kindOf(r schema.GroupVersionResource) string {
	return strings.ToUpper(r.Resource[:1]) + strings.TrimSuffix(r.Resource[1:], "s")
}

func definition(r schema.GroupVersionResource) fields {
	text := fields{"type": "string"}
	return fields{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": fields{"name": r.GroupResource().String()},
		"spec": fields{
			"group": r.Group, "scope": "Namespaced", "names": fields{"plural": r.Resource, "kind": kindOf(r)},
			"versions": []any{fields{
				"name": r.Version, "served": true, "storage": true, "subresources": fields{"status": fields{}},
				"selectableFields": []any{fields{"jsonPath": ".spec.node"}},
				"schema": fields{"openAPIV3Schema": fields{"type": "object", "properties": fields{
					"spec":   fields{"type": "object", "properties": fields{"node": text, "size": text}},
					"status": fields{"type": "object", "properties": fields{"phase": text}},
				}}},
			}},
		},
	}
}

// objectOf returns an object that has its node's name, and names the node in the declared place.
func objectOf(r schema.GroupVersionResource, node string) fields {
	return fields{
		"apiVersion": r.GroupVersion().String(), "kind": kindOf(r),
		"metadata": fields{"name": node, "namespace": stage.Namespace, "labels": fields{nodeLabel: node}},
		"spec":     fields{"node": node},
	}
}
