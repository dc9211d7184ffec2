/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a credential plugin answers. Input: the answer.
 */
#include "fuzz.h"

#include "exec.h"

#define VERSION "client.authentication.k8s.io/v1"

static void check_credential(const struct hami_internal_exec_credential *credential)
{
    FUZZ_CHECK(credential->token != NULL || credential->certificate != NULL);
    FUZZ_CHECK((credential->certificate == NULL) == (credential->key == NULL));
    for (const char *at = credential->token; at != NULL && *at != '\0'; at++) {
        FUZZ_CHECK(*at > ' ' && *at <= '~');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hami_internal_exec_credential credential;
    struct hami_error error = HAMI_ERROR_INIT;
    char *text = fuzz_copy((const char *)data, size);
    int64_t seconds = 0;
    int code =
        hami_internal_exec_credential_parse(text, size, VERSION, &credential, &error);

    FUZZ_CHECK(code == 0 || code == HAMI_E_INVAL);
    FUZZ_CHECK(code == error.code);
    FUZZ_CHECK(code == 0 || error.text[0] != '\0');
    if (code == 0) {
        check_credential(&credential);
    } else {
        FUZZ_CHECK(credential.token == NULL && credential.key == NULL);
    }
    hami_internal_exec_credential_done(&credential);
    (void)hami_internal_exec_time(text, &seconds);
    free(text);
    return 0;
}
