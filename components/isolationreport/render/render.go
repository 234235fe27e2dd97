// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package render writes a NodeIsolationReport for readers and programs: as a page, as a comparison of
// two reports, and as JUnit.
//
// A page is one file. It loads nothing, and its Content-Security-Policy allows only its own style and
// script. All content is there without the script, which adds search, filters, sorting and themes.
package render

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
)

// MaxPage is the size of the largest page, in bytes.
const MaxPage = 1_500_000

var (
	//go:embed *.tmpl
	files embed.FS
	//go:embed style.css
	style string
	//go:embed script.js
	script string

	templates = template.Must(template.ParseFS(files, "*.tmpl"))
)

// page is what every page has.
type page struct {
	Title, Footer string
	CSP           string
	Style         template.CSS
	Script        template.JS
}

func newPage(title, footer string) page {
	return page{
		Title: title, Footer: footer,
		CSP: fmt.Sprintf("default-src 'none'; style-src %s; script-src %s; img-src data:; base-uri 'none'; "+
			"form-action 'none'", hash(style), hash(script)),
		Style:  template.CSS(style), //nolint:gosec // a file of this package
		Script: template.JS(script), //nolint:gosec // a file of this package
	}
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// limits bounds the texts of a page. The YAML file has all of them.
type limits struct{ evidence, text, message int }

// write writes the first page that is not too large, from long texts to short ones.
func write(w io.Writer, name string, view func(limits) any) error {
	var out bytes.Buffer
	for _, l := range []limits{{100, 400, 2000}, {60, 240, 800}, {25, 160, 300}, {8, 100, 120}, {0, 0, 0}} {
		out.Reset()
		if err := templates.ExecuteTemplate(&out, name, view(l)); err != nil {
			return fmt.Errorf("cannot write the page %s: %w", name, err)
		}
		if out.Len() <= MaxPage {
			_, err := w.Write(out.Bytes())
			return err
		}
	}
	return fmt.Errorf("cannot write the page: it has %d bytes, and a page has at most %d; use the YAML file",
		out.Len(), MaxPage)
}
