// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"errors"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
)

func TestReadBody(t *testing.T) {
	fault := errors.New("fault")
	for _, tt := range []struct {
		name     string
		body     io.Reader
		expected int64
		want     string
		err      error
	}{
		{"nothing is nothing", strings.NewReader(""), 0, "", nil},
		{"as much as may be is read", strings.NewReader("12345678"), 8, "12345678", nil},
		{"so it is if nobody said how much", strings.NewReader("12345678"), -1, "12345678", nil},
		{"a byte more is too large", strings.NewReader("123456789"), 9, "123456789", ErrTooLarge},
		{"what follows is not read", strings.NewReader("123456789a"), 3, "123456789", ErrTooLarge},
		{"much more than there will be is not made room for", strings.NewReader("1"), 1 << 60, "1", nil},
		{"what ends early is an error", io.MultiReader(strings.NewReader("1"), iotest.ErrReader(fault)), 8, "", fault},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body, err := ReadBody(tt.body, tt.expected, 8)
			if !errors.Is(err, tt.err) {
				t.Fatalf("error %v, want %v", err, tt.err)
			}
			if body == nil {
				if tt.want != "" {
					t.Error("no body")
				}
				return
			}
			defer body.Release()
			if got := string(body.Bytes()); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestOtherMethodsAndContentTypesAreRejected(t *testing.T) {
	for _, tt := range []struct {
		name, method, contentType string
		want                      int
	}{
		{"POST of JSON is one", "POST", "application/json", 200},
		{"a charset changes nothing", "POST", "application/json; charset=utf-8", 200},
		{"GET is refused", "GET", "application/json", 405},
		{"protobuf is refused", "POST", "application/vnd.kubernetes.protobuf", 415},
		{"no content type is refused", "POST", "", 415},
		{"a broken content type is refused", "POST", ";;", 415},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := httptest.NewRequest(tt.method, "/", nil)
			req.Header.Set("Content-Type", tt.contentType)
			w := httptest.NewRecorder()
			if ok := IsReview(w, req); ok != (tt.want == 200) || w.Code != tt.want {
				t.Errorf("%v with status %d, want %d", ok, w.Code, tt.want)
			}
		})
	}
}
