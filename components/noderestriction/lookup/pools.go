// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
)

const (
	// asTable requests the columns that kubectl shows. A slice has up to one megabyte, but only two
	// columns are needed.
	asTable = "application/json;as=Table;v=v1;g=meta.k8s.io"
	// rowsPerPage rows take about 100 kB.
	rowsPerPage = 500
)

// PoolUser implements [noderestriction.Cluster]. No field selector exists for the pool, so it reads
// the slices of the driver, at most [MaxCounted].
func (v *Cluster) PoolUser(ctx context.Context, driver, pool, except string) (node string, err error) {
	// The name of a pool can have slashes. The name of a driver cannot.
	asked := question{kind: "resourceslicepools", namespace: driver, name: pool + " " + except}
	return look(ctx, v, asked, func(ctx context.Context) (string, error) {
		return v.findPoolUser(ctx, driver, pool, except)
	})
}

func (v *Cluster) findPoolUser(ctx context.Context, driver, pool, except string) (string, error) {
	if err := v.lists.Acquire(ctx, 1); err != nil {
		return "", err
	}
	defer v.lists.Release(1)
	options := metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.driver", driver).String(), Limit: rowsPerPage,
	}
	for seen := 0; seen < MaxCounted; {
		page, err := v.sliceTable(ctx, options)
		if err != nil {
			return "", withoutStatus(err)
		}
		if user, err := userIn(page, pool, except); user != "" || err != nil {
			return user, err
		}
		if page.Continue == "" {
			return "", nil
		}
		seen += rowsPerPage
		options.Continue = page.Continue
	}
	return "", errTooMany
}

func (v *Cluster) sliceTable(ctx context.Context, options metav1.ListOptions) (*metav1.Table, error) {
	body, err := v.client.ResourceV1().RESTClient().Get().Resource("resourceslices").
		SetHeader("Accept", asTable).
		VersionedParams(&options, scheme.ParameterCodec).Param("includeObject", string(metav1.IncludeNone)).
		Do(ctx).Raw()
	if err != nil {
		return nil, err
	}
	table := &metav1.Table{}
	if err := json.Unmarshal(body, table); err != nil {
		return nil, fmt.Errorf("reading a table: %w", err)
	}
	if table.Kind != "Table" {
		return nil, fmt.Errorf("the API server answered with a %.63q instead of a table", table.Kind)
	}
	return table, nil
}

// userIn returns the node of the first row of the pool. It ignores rows of the node that is named
// by the parameter except. It returns [noderestriction.NoNode] for a slice that does not belong to one
// node, and "" if there is no such row.
func userIn(table *metav1.Table, pool, except string) (string, error) {
	nodes, pools := column(table, "Node"), column(table, "Pool")
	if nodes < 0 || pools < 0 {
		return "", errors.New("the table of ResourceSlices has no columns Node and Pool")
	}
	for i := range table.Rows {
		node, hasNode := cell(&table.Rows[i], nodes)
		name, hasName := cell(&table.Rows[i], pools)
		switch {
		case !hasNode || !hasName:
			return "", errors.New("the table of ResourceSlices has a row without a node or a pool")
		case name != pool || node == except:
		case node == "":
			return noderestriction.NoNode, nil
		default:
			return node, nil
		}
	}
	return "", nil
}

func column(table *metav1.Table, name string) int {
	return slices.IndexFunc(table.ColumnDefinitions, func(c metav1.TableColumnDefinition) bool {
		return c.Name == name
	})
}

func cell(row *metav1.TableRow, at int) (string, bool) {
	if at >= len(row.Cells) {
		return "", false
	}
	text, ok := row.Cells[at].(string)
	return text, ok
}
