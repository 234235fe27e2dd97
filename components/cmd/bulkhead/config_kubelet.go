// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/apis/installation"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/authn"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/authz"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/proxy"
)

const (
	tokenWebhookFlag = "authentication-token-webhook"
	expiredListsFlag = "client-crl-expired"
)

// proxyDurations returns the fields of the file that are durations, by the flag of kubelet-auth-proxy.
func proxyDurations(k *installation.KubeletAPI) map[string]**metav1.Duration {
	return map[string]**metav1.Duration{
		"authentication-token-webhook-cache-ttl":       &k.Authentication.Webhook.CacheTTL,
		"authorization-webhook-cache-authorized-ttl":   &k.Authorization.Webhook.CacheAuthorizedTTL,
		"authorization-webhook-cache-unauthorized-ttl": &k.Authorization.Webhook.CacheUnauthorizedTTL,
		"streaming-connection-idle-timeout":            &k.StreamingConnectionIdleTimeout,
	}
}

// proxyFlagsOf returns the value of --kubelet-auth-proxy-flags for a file.
func proxyFlagsOf(k installation.KubeletAPI) string {
	var flags []string
	for name, field := range proxyDurations(&k) {
		if *field != nil {
			flags = append(flags, name+"="+(*field).Duration.String())
		}
	}
	if enabled := k.Authentication.Webhook.Enabled; enabled != nil {
		flags = append(flags, fmt.Sprintf("%s=%t", tokenWebhookFlag, *enabled))
	}
	if expired := k.Authentication.X509.ExpiredRevocationLists; expired != "" {
		flags = append(flags, expiredListsFlag+"="+expired)
	}
	slices.Sort(flags)
	return strings.Join(flags, ",")
}

// setProxyFlags sets the fields of a file from the recorded flags.
func setProxyFlags(k *installation.KubeletAPI, flags map[string]string) error {
	fields := proxyDurations(k)
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		value := flags[name]
		if name == expiredListsFlag {
			k.Authentication.X509.ExpiredRevocationLists = value
			continue
		}
		if name == tokenWebhookFlag {
			enabled, err := strconv.ParseBool(value)
			if err != nil {
				return fmt.Errorf("the recorded flag --%s of kubelet-auth-proxy is invalid: %w", name, err)
			}
			k.Authentication.Webhook.Enabled = &enabled
			continue
		}
		field, known := fields[name]
		if !known {
			return fmt.Errorf("the recorded flag --%s of kubelet-auth-proxy is unknown: another version set it", name)
		}
		d, err := time.ParseDuration(value)
		if err != nil {
			return fmt.Errorf("the recorded flag --%s of kubelet-auth-proxy is invalid: %w", name, err)
		}
		*field = &metav1.Duration{Duration: d}
	}
	return nil
}

// setProxyDefaults sets the absent fields to the defaults of kubelet-auth-proxy.
func setProxyDefaults(k *installation.KubeletAPI) {
	who, may := authn.DefaultOptions(), authz.DefaultOptions()
	defaults := map[string]time.Duration{
		"authentication-token-webhook-cache-ttl":       who.TokenTTL,
		"authorization-webhook-cache-authorized-ttl":   may.AuthorizedTTL,
		"authorization-webhook-cache-unauthorized-ttl": may.UnauthorizedTTL,
		"streaming-connection-idle-timeout":            proxy.DefaultLimits().StreamIdle,
	}
	for name, field := range proxyDurations(k) {
		if *field == nil {
			*field = &metav1.Duration{Duration: defaults[name]}
		}
	}
	if k.Authentication.X509.ExpiredRevocationLists == "" {
		k.Authentication.X509.ExpiredRevocationLists = who.Revocation.Expired
	}
	if k.Authentication.Webhook.Enabled == nil {
		k.Authentication.Webhook.Enabled = &who.TokenWebhook
	}
}
