// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	sumsFile      = "SHA256SUMS"
	signatureFile = "SHA256SUMS.sig"
)

// sums returns the SHA-256 sum of each file in a folder, except of the sums and their signature. The
// format is that of sha256sum.
func sums(folder string) (string, error) {
	files, err := os.ReadDir(folder)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, file := range files {
		if file.Name() == sumsFile || file.Name() == signatureFile {
			continue
		}
		digest, err := sum(filepath.Join(folder, file.Name()))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&text, "%s  %s\n", digest, file.Name())
	}
	return text.String(), nil
}

// sum returns the SHA-256 sum of a file.
func sum(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", fmt.Errorf("cannot read %s: %w", path, err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// sumLine is a line of SHA256SUMS. A name cannot leave the folder.
var sumLine = regexp.MustCompile(`^([0-9a-f]{64})  ([A-Za-z0-9][A-Za-z0-9._-]*)$`)

// checkSums compares the files of a folder with its SHA256SUMS. It returns an error for each file
// that differs, is missing, or is not listed.
func checkSums(folder string) error {
	text, err := os.ReadFile(filepath.Join(folder, sumsFile))
	if err != nil {
		return fmt.Errorf("cannot check the sums: %w", err)
	}
	listed := map[string]string{}
	scanner := bufio.NewScanner(strings.NewReader(string(text)))
	for scanner.Scan() {
		found := sumLine.FindStringSubmatch(scanner.Text())
		if found == nil || listed[found[2]] != "" {
			return fmt.Errorf("cannot read %s: invalid line %q; download it again", sumsFile, scanner.Text())
		}
		listed[found[2]] = found[1]
	}
	if len(listed) == 0 {
		return fmt.Errorf("cannot read %s: it lists no file; download it again", sumsFile)
	}
	return errors.Join(scanner.Err(), compareSums(folder, listed))
}

func compareSums(folder string, listed map[string]string) error {
	var problems []error
	for name, want := range listed {
		got, err := sum(filepath.Join(folder, name))
		if err == nil && got != want {
			err = fmt.Errorf("%s differs from %s; download it again", name, sumsFile)
		}
		problems = append(problems, err)
	}
	files, err := os.ReadDir(folder)
	problems = append(problems, err)
	for _, file := range files {
		name := file.Name()
		if listed[name] == "" && name != sumsFile && name != signatureFile {
			problems = append(problems, fmt.Errorf("%s is not in %s; delete it", name, sumsFile))
		}
	}
	problems = slices.DeleteFunc(problems, func(err error) bool { return err == nil })
	slices.SortFunc(problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(problems...)
}
