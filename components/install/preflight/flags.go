// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"slices"
	"strings"
)

// flagFindings checks the flags of kube-apiserver.
func flagFindings(in Input) []Finding {
	findings := []Finding{authorizers(in), admissionConfig(in), webhookPlugin(in.Server), nodeRestriction(in)}
	for _, f := range identityFlags {
		if value, set := in.Server.Arg(f.flag); set && value != "" {
			findings = append(findings, Finding{Warn, "--" + f.flag, f.why})
		}
	}
	if value, _ := in.Server.Arg("anonymous-auth"); value == "false" {
		return append(findings, Finding{OK, "anonymous requests", "switched off"})
	}
	return append(findings,
		Finding{OK, "anonymous requests",
			"on (kubeadm's default, its probes need it): they are no nodes and get what RBAC gives them"})
}

// identityFlags let a source other than the client CA decide who is a node.
var identityFlags = []struct{ flag, why string }{
	{"token-auth-file", "its tokens can carry the group system:nodes: check the file; bulkhead cannot know who has " +
		"them"},
	{"authentication-config",
		"its claim mappings can hand out names and groups that begin with system: only if they are written so: check them"},
	{"oidc-groups-claim", "with an empty --oidc-groups-prefix the provider can put users into the group system:nodes: " +
		"check the prefix"},
	{"authentication-token-webhook-config-file", "that webhook can put users into the group system:nodes: check it"},
}

func authorizers(in Input) Finding {
	const check = "authorizers of kube-apiserver"
	if value, set := in.Server.Arg("authorization-webhook-config-file"); set {
		return Finding{Fail, check,
			"--authorization-webhook-config-file=" + value +
				" names a webhook that --authorization-config would drop: write an AuthorizationConfiguration with it first, by " +
				"hand"}
	}
	if config, set := in.Server.Arg("authorization-config"); set {
		if config == in.AuthorizationConfig {
			return Finding{OK, check, "taken from " + config + " of Bulkhead"}
		}
		return Finding{Fail, check,
			"--authorization-config=" + config +
				" is not Bulkhead's, and Bulkhead does not edit another one: go back to --authorization-mode=Node,RBAC " +
				"first, if yours has nothing more"}
	}
	value, set := in.Server.Arg("authorization-mode")
	modes := strings.Split(value, ",")
	slices.Sort(modes)
	switch {
	case !set:
		return Finding{Fail, check,
			"neither --authorization-mode nor --authorization-config is set: every request is allowed; set " +
				"--authorization-mode=Node,RBAC"}
	case slices.Equal(modes, []string{"Node", "RBAC"}):
		return Finding{OK, check, "--authorization-mode=" + value}
	}
	return Finding{Fail, check,
		"--authorization-mode=" + value +
			": the profiles know Node,RBAC only and would drop the rest; make it Node,RBAC first"}
}

// admissionConfig checks the AdmissionConfiguration of another program or user: that of the flag, or
// the one whose plugins an installed Bulkhead keeps. The installer reads it again in each run.
func admissionConfig(in Input) Finding {
	const check = "admission configuration"
	config, _ := in.Server.Arg("admission-control-config-file")
	other, detail := config, "taken from "+config+"; Bulkhead's file will keep its plugins"
	failure := "--admission-control-config-file=" + config + " is not Bulkhead's. The server takes one such file, and " +
		"Bulkhead's cannot keep what is in it: "
	remedy := ""
	switch {
	case config == "":
		return Finding{OK, check, "none yet"}
	case config == in.AdmissionConfig && in.OtherAdmission == "":
		return Finding{OK, check, "taken from " + config + " of Bulkhead"}
	case config == in.AdmissionConfig:
		other = in.OtherAdmission
		detail = "taken from " + config + " of Bulkhead, which keeps the plugins of " + other
		failure = "cannot keep the plugins that kube-apiserver had before Bulkhead: "
		remedy = ". Restore " + other + ", or write an AdmissionConfiguration with `plugins: []` there"
	}
	if in.Host == nil {
		return Finding{OK, check, detail}
	}
	plugins, err := in.Host.AdmissionPlugins(other, in.Server.HostPath(other))
	if err != nil {
		return Finding{Fail, check, failure + err.Error() + remedy}
	}
	if len(plugins) == 0 {
		plugins = []string{"none"}
	}
	return Finding{OK, check, detail + ": " + strings.Join(plugins, ", ")}
}

// webhookPlugin checks the admission plugin that calls node-restriction.
func webhookPlugin(server Server) Finding {
	const check = "ValidatingAdmissionWebhook"
	if value, set := server.Arg("admission-control"); set {
		return Finding{Fail, check,
			"--admission-control=" + value +
				" cannot stand beside the flags that are to be set: write --enable-admission-plugins and " +
				"--disable-admission-plugins instead"}
	}
	if lists(server, "disable-admission-plugins", check) {
		return Finding{Fail, check,
			"disabled: kube-apiserver would not call node-restriction; take it out of --disable-admission-plugins"}
	}
	return Finding{OK, check, "on"}
}

func nodeRestriction(in Input) Finding {
	const check = "NodeRestriction admission"
	on := lists(in.Server, "enable-admission-plugins", "NodeRestriction") &&
		!lists(in.Server, "disable-admission-plugins", "NodeRestriction")
	config, _ := in.Server.Arg("admission-control-config-file")
	switch {
	case on && in.Profile == "parity":
		return Finding{OK, check, "on; node-restriction replaces it"}
	case on:
		return Finding{OK, check, "on"}
	case config != "" && config == in.AdmissionConfig:
		return Finding{OK, check, "off: node-restriction replaces it"}
	case in.Profile == "parity":
		return Finding{Warn, check, "off: so far nothing checks what nodes write; node-restriction will"}
	case in.AuditOnly:
		// The floor of profile hardened has no mode audit.
		return Finding{Fail, check, "off: profile hardened switches it on, and it denies writes of nodes also in mode " +
			"audit. Add NodeRestriction to --enable-admission-plugins first, and check that all nodes still work"}
	}
	return Finding{Warn, check,
		"off: so far nothing checks what nodes write; the profile switches it on, before node-restriction"}
}

const (
	addressCheck   = "addresses of kubelets"
	kubeletCACheck = "CA of kubelets"
	addressFlag    = "kubelet-preferred-address-types"
	kubeletCAFlag  = "kubelet-certificate-authority"
)

// addressFindings checks to which address of a node kube-apiserver connects. kubelet-auth-proxy listens
// only on the InternalIPs.
func addressFindings(_ context.Context, in Input) ([]Finding, error) {
	if !in.GuardsKubelets {
		return nil, nil
	}
	value, set := in.Server.Arg(addressFlag)
	first, _, _ := strings.Cut(value, ",")
	if first == "InternalIP" {
		return []Finding{{OK, addressCheck, "kube-apiserver connects to the InternalIP of a node"}}, nil
	}
	detail := "--" + addressFlag + "=" + value + " does not begin with InternalIP"
	if !set {
		// The default begins with Hostname, so it fails as that value does: preflight cannot know what
		// each name resolves to on each control-plane host. kubeadm always sets the flag.
		detail = "--" + addressFlag + " is not set, and kube-apiserver's default begins with Hostname"
	}
	return []Finding{{Fail, addressCheck, detail + ". With `bulkhead node install`, also in mode audit, port 10250 is " +
		"open only on the InternalIPs of the node, so kube-apiserver can lose logs and exec. Set kubeadm's default on " +
		"every control-plane host: --" + addressFlag + "=InternalIP,ExternalIP,Hostname"}}, nil
}

// kubeletCAFindings checks the CA by which kube-apiserver verifies kubelets. Bulkhead keeps another CA
// than its own. A kubelet behind kubelet-auth-proxy has a certificate of the cluster's CA.
func kubeletCAFindings(_ context.Context, in Input) ([]Finding, error) {
	if !in.GuardsKubelets || in.Host == nil {
		return nil, nil
	}
	file, _ := in.Server.Arg(kubeletCAFlag)
	if file == "" {
		return []Finding{{OK, kubeletCACheck, "none: kube-apiserver accepts every certificate of a kubelet"}}, nil
	}
	if problem := in.Host.KubeletCAProblem(in.Server.HostPath(file)); problem != "" {
		return []Finding{{Fail, kubeletCACheck, "--" + kubeletCAFlag + "=" + file + ": " + problem}}, nil
	}
	return []Finding{{OK, kubeletCACheck, "--" + kubeletCAFlag + "=" + file + " contains the cluster's CA"}}, nil
}

func lists(server Server, flag, plugin string) bool {
	value, _ := server.Arg(flag)
	return slices.Contains(strings.Split(value, ","), plugin)
}
