// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crawler_test

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"
)

// claims are the claims in a service account's token. This code does not verify the signature: the
// control attempt shows whether the token is valid.
type claims struct {
	Audiences  audiences `json:"aud"`
	Kubernetes struct {
		Namespace string `json:"namespace"`
		Account   named  `json:"serviceaccount"`
		Pod       named  `json:"pod"`
	} `json:"kubernetes.io"`
}

type named struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
}

// audiences are a list or a single string (RFC 7519 section 4.1.3).
type audiences []string

// UnmarshalJSON reads both forms.
func (a *audiences) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*a = audiences{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(a))
}

// readClaims returns false for a text that is not a token.
func readClaims(token string) (claims, bool) {
	var c claims
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return c, false
	}
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	return c, err == nil && json.Unmarshal(body, &c) == nil && c.Kubernetes.Namespace != ""
}

// token is a token that was found.
type token struct {
	Path  string
	Value string
	claims
}

// account returns the namespace and the name of the token's service account.
func (t token) account() string { return t.Kubernetes.Namespace + "/" + t.Kubernetes.Account.Name }

var bootstrapTokens = regexp.MustCompile(bootstrapToken)

// readTokens returns the service account tokens and the bootstrap tokens in the files.
func readTokens(files []file) (tokens []token, joining []token) {
	seen := map[string]bool{}
	for _, f := range files {
		value := strings.TrimSpace(f.Data)
		if c, ok := readClaims(value); ok {
			tokens = append(tokens, token{Path: f.Path, Value: value, claims: c})
			continue
		}
		// Search only configuration: the pattern may match encoded data by chance.
		if strings.Contains(f.Data, "-----BEGIN") || !strings.Contains(f.Data, "kind: ") {
			continue
		}
		for _, found := range bootstrapTokens.FindAllStringSubmatch(f.Data, -1) {
			if value := found[2]; !seen[value] {
				seen[value] = true
				joining = append(joining, token{Path: f.Path, Value: value})
			}
		}
	}
	return tokens, joining
}
