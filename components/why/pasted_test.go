// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// pasted are texts as a terminal shows them. want is the request: user, verb, resource and object.
var pasted = []struct {
	name, text, want string
	rule             rules.ID
	by, option       string
}{
	{"kubectl get", `Error from server (Forbidden): nodes "cp-1" is forbidden: User "system:node:w" cannot get ` +
		`resource "nodes" in API group "" at the cluster scope: node 'w' cannot read 'cp-1', only its own Node object ` +
		`[NA-NODE-1]`,
		"system:node:w get nodes cp-1", "NA-NODE-1", "Bulkhead's node-authorizer", "nothing else"},
	{"kubectl get, wrapped", "Error from server (Forbidden): nodes \"cp-1\" is forbidden: User\n\"system:node:w\" " +
		"cannot get resource \"nodes\" in API group \"\" at the cluster scope: node\n'w' cannot read 'cp-1', only its own " +
		"Node object\n",
		"system:node:w get nodes cp-1", "NA-NODE-1", "Kubernetes' own Node authorizer", "nothing else"},
	{"kubectl get, wrapped in the reason", "Error from server (Forbidden): secrets \"tls\" is forbidden: User " +
		"\"system:node:w\" cannot get resource \"secrets\" in API group \"\" in the namespace \"n\": no relationship\r\n" +
		"found between node 'w' and this object\r\n",
		"system:node:w get secrets n/tls", "NA-SECRET-1", "Kubernetes' own Node authorizer",
		"A pod that is bound to node w must use secret n/tls"},
	{"kubectl get, wrapped before the ID", "Error from server (Forbidden): secrets \"tls\" is forbidden: User " +
		"\"system:node:w\" cannot get resource \"secrets\" in API group \"\" in the namespace \"n\": no relationship " +
		"found between node 'w' and this object\n[NA-SECRET-1]\n",
		"system:node:w get secrets n/tls", "NA-SECRET-1", "Bulkhead's node-authorizer",
		"A pod that is bound to node w must use secret n/tls"},
	{"kubectl get, wrapped before both IDs", "Error from server (Forbidden): pods is forbidden: User " +
		"\"system:serviceaccount:m:agent\" cannot list resource \"pods\" in API group \"\" at the cluster scope: a pod " +
		"on node 'w' is limited to what that node may do: can only list/watch pods with spec.nodeName field selector\n" +
		"[NA-POD-2]\n[NS-POD-1]\n",
		"system:serviceaccount:m:agent list pods", "NA-POD-2", "Bulkhead's node scope",
		"out of the scope of the ServiceAccount"},
	{"kubectl create -f", `Error from server (Forbidden): error when creating "p.yaml": pods "p" is forbidden: pod does ` +
		`not have "kubernetes.io/config.mirror" annotation, node "w" can only create mirror pods`,
		"", "NR-POD-1", "Kubernetes' own NodeRestriction plugin", "No setting"},
	{"kubectl create -f, webhook", `Error from server (Forbidden): error when creating "p.yaml": admission webhook ` +
		`"node-restriction.bulkhead.dev" denied the request: pods "p" is forbidden: node "w" can only create mirror pods ` +
		`whose names end in -w and that have no finalizers [NR-MIRROR-5]`,
		"", "NR-MIRROR-5", "Bulkhead's node-restriction", ""},
	{"kubectl create -f, webhook without the ID", `Error from server (Forbidden): error when creating "p.yaml": ` +
		`admission webhook "node-restriction.bulkhead.dev" denied the request: pods "p" is forbidden: pod does not have ` +
		`"kubernetes.io/config.mirror" annotation, node "w" can only create mirror pods`,
		"", "NR-POD-1", "Bulkhead's node-restriction", ""},
	{"kubectl apply", "Error from server (Forbidden): error when applying patch:\n" +
		`{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"kind\":\"Node\"}\n"},` +
		`"labels":{"x.io/y":"1"}}}` + "\nto:\nResource: \"/v1, Resource=nodes\", GroupVersionKind: \"/v1, Kind=Node\"\n" +
		`Name: "a", Namespace: ""` + "\nfor: \"n.yaml\": error when patching \"n.yaml\": nodes \"a\" is forbidden: node " +
		"\"b\" is not allowed to modify node \"a\"\n",
		"", "NR-NODE-1", "Kubernetes' own NodeRestriction plugin", "No setting"},
	{"kubectl delete -f", `Error from server (Forbidden): error when deleting "x.yaml": leases.coordination.k8s.io "a" ` +
		`is forbidden: User "system:node:w" cannot delete resource "leases" in API group "coordination.k8s.io" in the ` +
		`namespace "kube-node-lease": can only access node lease with the same name as the requesting node`,
		"system:node:w delete leases.coordination.k8s.io kube-node-lease/a", "NA-LEASE-2",
		"Kubernetes' own Node authorizer", "for the lease kube-node-lease/NODE"},
	{"kubectl create token", `error: failed to create token: admission webhook "node-restriction.bulkhead.dev" denied ` +
		`the request: serviceaccounts "shop" is forbidden: node may not request a token for 315360000 seconds: 86400 ` +
		`seconds are the most that the pod or the policy asks for [NR-SA-6]`, "", "NR-SA-6",
		"Bulkhead's node-restriction", ""},
	{"event of a pod", `MountVolume.SetUp failed for volume "v" : secrets "tls" is forbidden: User "system:node:w" ` +
		`cannot get resource "secrets" in API group "" in the namespace "n": no relationship found between node 'w' and ` +
		`this object`,
		"system:node:w get secrets n/tls", "NA-SECRET-1", "Kubernetes' own Node authorizer",
		"A pod that is bound to node w must use secret n/tls"},
	{"event of a pod, described", `  Warning  FailedMount  3s (x5 over 11s)  kubelet  MountVolume.SetUp failed for ` +
		`volume "v" : configmaps "c" is forbidden: User "system:node:w" cannot get resource "configmaps" in API group "" ` +
		`in the namespace "n": no relationship found between node 'w' and this object [NA-CM-1]`,
		"system:node:w get configmaps n/c", "NA-CM-1", "Bulkhead's node-authorizer",
		"A pod that is bound to node w must use configmap n/c"},
	{"event without a reason", `MountVolume.SetUp failed for volume "v" : secrets "tls" is forbidden: User ` +
		`"system:node:w" cannot get resource "secrets" in API group "" in the namespace "n"`,
		"system:node:w get secrets n/tls", "NA-SECRET-1", "no authorizer allows it: the reason names no rule",
		"A pod that is bound to node w must use secret n/tls"},
	{"kubelet's log", `E1129 10:00:00.000000       1 reflector.go:205] "Failed to watch" err="failed to list ` +
		`*v1.Secret: secrets \"x\" is forbidden: User \"system:node:w\" cannot list resource \"secrets\" in API group \"\" ` +
		`in the namespace \"n\": no relationship found between node 'w' and this object" logger="UnhandledError" ` +
		`reflector="object-\"n\"/\"x\"" type="*v1.Secret"`,
		"system:node:w list secrets n/x", "NA-SECRET-2", "Kubernetes' own Node authorizer",
		"A pod that is bound to node w must use secret n/x"},
	{"kubelet's log, several authorizers", "E1129 10:00:00.000000 1 reflector.go:205] \"Failed to watch\" " +
		"err=<\n\tfailed to list *v1.Secret: secrets \"x\" is forbidden: User \"system:node:w\" cannot list resource " +
		"\"secrets\" in API group \"\" in the namespace \"n\": the view is not ready [NA-UNREADY]\n\tno relationship found " +
		"between node 'w' and this object\n > logger=\"UnhandledError\" type=\"*v1.Secret\"",
		"system:node:w list secrets n/x", "NA-UNREADY", "Kubernetes' own Node authorizer",
		"A pod that is bound to node w must use secret n/x"},
	{"kubelet's log, quoted twice", `E1129 10:00:00.000000 1 pod_workers.go:1324] "Error syncing pod, skipping" ` +
		`err="failed to \"StartContainer\" for \"c\" with CreateContainerConfigError: \"secrets \\\"tls\\\" is forbidden: ` +
		`User \\\"system:node:w\\\" cannot get resource \\\"secrets\\\" in API group \\\"\\\" in the namespace \\\"n\\\": ` +
		`no relationship found between node 'w' and this object [NA-SECRET-1]\"" pod="n/p" podUID="1"`,
		"system:node:w get secrets n/tls", "NA-SECRET-1", "Bulkhead's node-authorizer",
		"A pod that is bound to node w must use secret n/tls"},
	{"kubelet's log, mirror pod", `E1129 10:00:00.000000 1 kubelet.go:3342] "Failed creating a mirror pod" ` +
		`err="admission webhook \"node-restriction.bulkhead.dev\" denied the request: pods \"p-w\" is forbidden: node ` +
		`\"w\" can only create mirror pods in namespaces that have the annotation node.kubernetes.io/mirror.allowed, and ` +
		`\"n\" does not [NR-MIRROR-1]" pod="n/p-w"`, "", "NR-MIRROR-1", "Bulkhead's node-restriction", ""},
	{"node-restriction's log", `I1129 10:00:00.000000 1 log.go:90] "Not admitted" user="system:node:w" ` +
		`operation="UPDATE" resource="pods" subresource="status" decision="deny" rule="NR-PODMETA-1" code=403 ` +
		`message="pods \"log-collector\" is forbidden: node \"w\" cannot update annotations through pod status ` +
		`[NR-PODMETA-1]"`,
		"", "NR-PODMETA-1", "Bulkhead's node-restriction", ""},
	{"kubectl exec, authorization", `error: unable to upgrade connection: pods "web" is forbidden: User "alice" cannot ` +
		`create resource "pods/exec" in API group "" in the namespace "n"`, "alice create pods/exec n/web", "",
		"no authorizer allows it", "kubectl -n n create role NAME --verb=create --resource=pods/exec"},
	{"kubectl exec, kubelet-auth-proxy", `error: unable to upgrade connection: Forbidden ` +
		`(user=kube-apiserver-kubelet-client, verb=create, resource=nodes, subresource(s)=[exec]) [KA-EXEC-1]`, "",
		"KA-EXEC-1", "Bulkhead's kubelet-auth-proxy", "ClusterRole bulkhead:kube-apiserver-kubelet-client"},
	{"kubectl exec, kubelet", `error: unable to upgrade connection: Forbidden (user=kube-apiserver-kubelet-client, ` +
		`verb=create, resource=nodes, subresource(s)=[proxy])`, "", "", "the kubelet",
		"with verb create on nodes/proxy, bound to the user of the client"},
	{"kubectl logs, kubelet-auth-proxy", `Error from server (Forbidden): Forbidden (user=kube-apiserver-kubelet-client, ` +
		`verb=get, resource=nodes, subresource(s)=[containerlogs]) [KA-CLOG-1]` + "\n ( pods/log web)", "", "KA-CLOG-1",
		"Bulkhead's kubelet-auth-proxy", "with verb get on nodes/containerlogs, bound to the user of the client"},
	{"kubectl logs, no decision", `Error from server (InternalError): Internal error occurred: Authorization error ` +
		`(user=u, verb=get, resource=nodes, subresource=containerlogs) [KA-DECISION-1]`, "", "KA-DECISION-1",
		"Bulkhead's kubelet-auth-proxy", ""},
	{"kubectl get --raw, policy", `Error from server (Forbidden): nodes "w" is forbidden: ValidatingAdmissionPolicy ` +
		`'kubelet-api.bulkhead.static.k8s.io' with binding 'kubelet-api.bulkhead.static.k8s.io' denied request: ` +
		`nodes/proxy with this path also needs the verb create on nodes/exec of node w [KA-VAP-1]`, "", "KA-VAP-1",
		"Bulkhead's ValidatingAdmissionPolicy", "--rule-mode=KA-VAP-1=audit"},
}

func TestPastedTexts(t *testing.T) {
	for _, row := range pasted {
		t.Run(row.name, func(t *testing.T) {
			d := ParseMessage(row.text)
			request := ""
			if d.Request != nil {
				request = d.Request.String()
			}
			if request != row.want {
				t.Errorf("request %q, want %q", request, row.want)
			}
			a, err := Explain(d)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(a.By, row.by) {
				t.Errorf("denied by %q, want %q", a.By, row.by)
			}
			if row.rule == "" && len(a.Rules) > 0 || row.rule != "" && (len(a.Rules) == 0 || a.Rules[0].ID != row.rule) {
				t.Errorf("rules %+v, want %q", a.Rules, row.rule)
			}
			if text := printed(t, a); !strings.Contains(text, row.option) {
				t.Errorf("want %q in\n%s", row.option, text)
			}
		})
	}
}

// TestMessagesInJSON has a Status, an Event of a pod, and a log line of a kubelet with
// --logging-format=json.
func TestMessagesInJSON(t *testing.T) {
	const text = `secrets \"tls\" is forbidden: User \"system:node:w\" cannot get resource \"secrets\" in API group ` +
		`\"\" in the namespace \"n\": no relationship found between node 'w' and this object`
	for name, object := range map[string]string{
		"Status": "{\n  \"kind\": \"Status\",\n  \"message\": \"" + text + "\",\n  \"code\": 403\n}",
		"Event":  `{"kind":"Event","apiVersion":"v1","message":"MountVolume.SetUp failed for volume \"v\" : ` + text + `"}`,
		"log":    `{"ts":1.5,"caller":"cache/reflector.go:205","msg":"Failed to watch","err":"failed to list: ` + text + `"}`,
	} {
		message, ok := MessageOf([]byte(object))
		if !ok {
			t.Errorf("%s: no message", name)
			continue
		}
		if d := ParseMessage(message); d.Request == nil || d.Request.String() != "system:node:w get secrets n/tls" {
			t.Errorf("%s: %+v", name, d)
		}
	}
	for _, object := range []string{"", "{", "{}", `{"message":1}`, `{"message":""}`, string(eventLine(t))} {
		if message, ok := MessageOf([]byte(object)); ok {
			t.Errorf("%q has message %q", object, message)
		}
	}
}

// TestAMessageKeepsItsQuotes: what looks like the end of a log line can be a part of the message.
func TestAMessageKeepsItsQuotes(t *testing.T) {
	for text, want := range map[string]string{
		`nodes "a" is forbidden: node "b" is not allowed to modify node "a"`: "",
		`x "y" is forbidden: "p" a=b "q" c=d`:                                "",
		`x "y" is forbidden: no" a=b`:                                        `x "y" is forbidden: no`,
		`x "y" is forbidden: "p" no"}`:                                       `x "y" is forbidden: "p" no`,
		`x is forbidden: User "u": y "z" is forbidden: no`:                   "",
		`a is forbidden: b "c" is forbidden: no`:                             `b "c" is forbidden: no`,
		`hello "world"`:                                                      "",
	} {
		if want == "" {
			want = text
		}
		if got, _ := statusMessage(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func FuzzStatusMessage(f *testing.F) {
	for _, row := range pasted {
		f.Add(row.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if a, err := Explain(ParseMessage(text)); err == nil && a.By == "" {
			t.Errorf("%q has no decider", text)
		}
	})
}
