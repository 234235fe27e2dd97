// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	apiserverconfig "k8s.io/apiserver/pkg/apis/apiserver"
	apiserverinstall "k8s.io/apiserver/pkg/apis/apiserver/install"
	"sigs.k8s.io/yaml"
)

// ownPlugins are the plugins that Bulkhead configures. kube-apiserver uses the first section of a
// plugin and ignores a second one, so two cannot be merged.
var ownPlugins = []string{webhookPlugin, PolicyPlugin}

// AdmissionFile is an AdmissionConfiguration as the installer writes it.
type AdmissionFile struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Plugins    []Plugin `json:"plugins"`
}

// Plugin is a section of an AdmissionConfiguration. Path or Configuration has the plugin's settings.
type Plugin struct {
	Name          string         `json:"name"`
	Path          string         `json:"path,omitempty"`
	Configuration map[string]any `json:"configuration,omitempty"`
}

// ParseAdmission reads Bulkhead's own AdmissionConfiguration.
func ParseAdmission(own []byte) (AdmissionFile, error) {
	var config AdmissionFile
	if err := yaml.UnmarshalStrict(own, &config); err != nil {
		return AdmissionFile{}, fmt.Errorf("reading Bulkhead's admission configuration: %w", err)
	}
	return config, nil
}

// MergeAdmission returns Bulkhead's AdmissionConfiguration with the plugins of another one. file is
// the path of the other one in kube-apiserver's container.
func MergeAdmission(own, other []byte, file string) ([]byte, error) {
	plugins, err := otherPlugins(other, file)
	if err != nil {
		return nil, err
	}
	config, err := ParseAdmission(own)
	if err != nil {
		return nil, err
	}
	config.Plugins = append(config.Plugins, plugins...)
	merged, err := yaml.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("encoding Bulkhead's admission configuration: %w", err)
	}
	return fmt.Appendf(nil, "# Bulkhead's plugins, then those of %s. bulkhead install writes this file.\n"+
		"# To change a plugin, edit that file and run bulkhead install again.\n%s", file, merged), nil
}

// OtherPlugins returns the names of the plugins in another AdmissionConfiguration, or the reason why
// Bulkhead's cannot have them.
func OtherPlugins(other []byte, file string) (names []string, err error) {
	plugins, err := otherPlugins(other, file)
	for _, p := range plugins {
		names = append(names, p.Name)
	}
	return names, err
}

// ErrNotOnHost is the error for a file of kube-apiserver that this host cannot read.
var ErrNotOnHost = errors.New("it is not on a volume of the host in kube-apiserver's manifest")

// ReadOther reads another AdmissionConfiguration of kube-apiserver. hostPath is its path on the host,
// or empty if it is not on a volume of the host.
func ReadOther(file, hostPath string) ([]byte, error) {
	if hostPath == "" {
		return nil, fmt.Errorf("cannot read %s: %w", file, ErrNotOnHost)
	}
	return os.ReadFile(hostPath)
}

// ValidateOther reports why kube-apiserver would not start with another AdmissionConfiguration.
func ValidateOther(other []byte, file string) error {
	_, err := decodeOther(other, file)
	return err
}

// decodeOther reads the file as kube-apiserver does: in any version of the API, and strictly. If it
// ignored a misspelled field, the plugin would silently lose its configuration.
func decodeOther(other []byte, file string) (*apiserverconfig.AdmissionConfiguration, error) {
	scheme := runtime.NewScheme()
	apiserverinstall.Install(scheme)
	object, err := runtime.Decode(serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDecoder(), other)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s as an AdmissionConfiguration: %w", file, err)
	}
	config, ok := object.(*apiserverconfig.AdmissionConfiguration)
	if !ok {
		return nil, fmt.Errorf("cannot read %s as an AdmissionConfiguration: it is a %T", file, object)
	}
	return config, nil
}

func otherPlugins(other []byte, file string) ([]Plugin, error) {
	config, err := decodeOther(other, file)
	if err != nil {
		return nil, err
	}
	var plugins []Plugin
	for _, section := range config.Plugins {
		if slices.Contains(ownPlugins, section.Name) {
			return nil, fmt.Errorf("cannot keep the plugin %s of %s: Bulkhead configures this plugin itself, and "+
				"kube-apiserver uses one configuration for each plugin. Remove it from the file. If you need it, Bulkhead "+
				"cannot be installed here", section.Name, file)
		}
		p := Plugin{Name: section.Name}
		if section.Path != "" {
			// A relative path is relative to the file, and Bulkhead's file is in another directory.
			p.Path = section.Path
			if !path.IsAbs(p.Path) {
				p.Path = path.Join(path.Dir(path.Join("/", file)), p.Path)
			}
		}
		if section.Configuration != nil {
			if err := utiljson.Unmarshal(section.Configuration.Raw, &p.Configuration); err != nil {
				return nil, fmt.Errorf("cannot read the plugin %s of %s: %w", section.Name, file, err)
			}
		}
		plugins = append(plugins, p)
	}
	return plugins, nil
}
