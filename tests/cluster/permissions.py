# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""What a role allows and what an audit log shows to have been used, as sets that can be compared.

A permission is (verb, resource, namespace): the resource has its subresource and, outside of the core,
its API group ("leases.coordination.k8s.io"); the namespace is None where the whole cluster is allowed.
"""

import json

DECISION = "authorization.k8s.io/decision"


def _resource(group, resource):
    return f"{resource}.{group}" if group else resource


def of_roles(roles):
    """The permissions of ClusterRoles and Roles. No wildcards: a role of ours has none."""
    found = set()
    for role in roles:
        namespace = role["metadata"].get("namespace")
        for rule in role.get("rules") or []:
            for verb in rule["verbs"]:
                for group in rule.get("apiGroups", []):
                    for resource in rule.get("resources", []):
                        if "*" in (verb, group, resource):
                            raise ValueError(f"a wildcard in {role['metadata']['name']}")
                        found.add((verb, _resource(group, resource), namespace))
    return found


def without(role, permission):
    """That role as rules, each with one verb and one resource, but for one permission."""
    rules = []
    for verb, resource, namespace in sorted(of_roles([role]), key=str):
        if (verb, resource, namespace) != permission:
            name, _, group = resource.partition(".")
            rules.append({"verbs": [verb], "apiGroups": [group], "resources": [name]})
    return rules


def used(lines, user):
    """(allowed, forbidden): what that user asked for, as (verb, resource, namespace or "")."""
    allowed, forbidden = set(), set()
    for line in lines:
        entry = json.loads(line)
        about = entry.get("objectRef")
        if entry["user"]["username"] != user or about is None or "resource" not in about:
            continue
        resource = about["resource"]
        if about.get("subresource"):
            resource += "/" + about["subresource"]
        asked = (entry["verb"], _resource(about.get("apiGroup", ""), resource),
                 about.get("namespace", ""))
        is_allowed = (entry.get("annotations") or {}).get(DECISION) == "allow"
        (allowed if is_allowed else forbidden).add(asked)
    return allowed, forbidden


def unused(permissions, asked):
    """Permissions that nothing asked for needs."""
    return sorted((one for one in permissions if not any(covers(one, each) for each in asked)),
                  key=str)


def uncovered(permissions, asked):
    """What was asked for and no permission covers."""
    return sorted(each for each in asked if not any(covers(one, each) for one in permissions))


def covers(permission, asked):
    verb, resource, namespace = permission
    return (verb, resource) == asked[:2] and namespace in (None, asked[2])
