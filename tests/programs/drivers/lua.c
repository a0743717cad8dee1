/* Lua at work: runs the script named by the first argument (see script.lua), as often as a second one says, each time in
 * a state of its own; errors travel by longjmp. */
#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"
#include <stdio.h>
#include <stdlib.h>

static int run(const char *script) {
    lua_State *lua = luaL_newstate();
    if (!lua)
        return 1;
    luaL_openlibs(lua);
    int failed = luaL_dofile(lua, script) != LUA_OK;
    if (failed)
        fprintf(stderr, "%s\n", lua_tostring(lua, -1));
    lua_close(lua);
    return failed;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: lua SCRIPT [TIMES]\n");
        return 2;
    }
    int failed = 0;
    for (int times = argc > 2 ? atoi(argv[2]) : 1; times > 0; times--)
        failed |= run(argv[1]);
    return failed;
}
