/* Lua at work: runs the script named by the first argument (see script.lua); errors travel by longjmp. */
#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"
#include <stdio.h>

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: lua SCRIPT\n");
        return 2;
    }
    lua_State *lua = luaL_newstate();
    if (!lua)
        return 1;
    luaL_openlibs(lua);
    int failed = luaL_dofile(lua, argv[1]) != LUA_OK;
    if (failed)
        fprintf(stderr, "%s\n", lua_tostring(lua, -1));
    lua_close(lua);
    return failed;
}
