//! A module: what is in it, and what is added to it.

use inkwell::llvm_sys::{LLVMAttributeFunctionIndex, LLVMLinkage, LLVMThreadLocalMode, core::*, prelude::*};

use super::builder::Builder;
use super::handle::{AttributeKind, Block, Metadata, ModuleHandle, Type, Value, c_name};

impl<'m> ModuleHandle<'m> {
    #[must_use]
    pub fn functions(self) -> Vec<Value<'m>> {
        // SAFETY: the borrowed module; null ends the list.
        let mut next = unsafe { LLVMGetFirstFunction(self.raw()) };
        let mut functions = Vec::new();
        while let Some(function) = Value::maybe(next) {
            functions.push(function);
            // SAFETY: a function of the module.
            next = unsafe { LLVMGetNextFunction(next) };
        }
        functions
    }

    #[must_use]
    pub fn function(self, name: &str) -> Option<Value<'m>> {
        // SAFETY: the borrowed module, and so many bytes.
        Value::maybe(unsafe { LLVMGetNamedFunctionWithLength(self.raw(), name.as_ptr().cast(), name.len()) })
    }

    /// The resolvers of all ifuncs.
    #[must_use]
    pub fn ifunc_resolvers(self) -> Vec<Value<'m>> {
        let mut resolvers = Vec::new();
        // SAFETY: the borrowed module; null ends the list.
        let mut next = unsafe { LLVMGetFirstGlobalIFunc(self.raw()) };
        while !next.is_null() {
            // SAFETY: an ifunc of the module.
            resolvers.extend(Value::maybe(unsafe { LLVMGetGlobalIFuncResolver(next) }));
            // SAFETY: as above.
            next = unsafe { LLVMGetNextGlobalIFunc(next) };
        }
        resolvers
    }

    /// Integer module flag such as `PIC Level`.
    #[must_use]
    pub fn flag(self, name: &str) -> Option<i64> {
        // SAFETY: the borrowed module, and so many bytes.
        let flag = unsafe { LLVMGetModuleFlag(self.raw(), name.as_ptr().cast(), name.len()) };
        let flag = Metadata::maybe(flag)?;
        // SAFETY: metadata of the module's context.
        let flag = Value::new(unsafe { LLVMMetadataAsValue(self.context(), flag.raw()) });
        flag.wrapped()?.as_signed_constant()
    }

    /// An integer type of 1 to 2^23 bits.
    #[must_use]
    pub fn int_type(self, bits: u32) -> Type<'m> {
        assert!((1..1 << 23).contains(&bits), "an integer of {bits} bits");
        // SAFETY: the module's context, and a width that LLVM has.
        Type::new(unsafe { LLVMIntTypeInContext(self.context(), bits) })
    }

    #[must_use]
    pub fn pointer_type(self) -> Type<'m> {
        // SAFETY: the module's context.
        Type::new(unsafe { LLVMPointerTypeInContext(self.context(), 0) })
    }

    #[must_use]
    pub fn void_type(self) -> Type<'m> {
        // SAFETY: the module's context.
        Type::new(unsafe { LLVMVoidTypeInContext(self.context()) })
    }

    #[must_use]
    pub fn function_type(self, result: Type<'m>, parameters: &[Type<'m>]) -> Type<'m> {
        let mut raw: Vec<LLVMTypeRef> = parameters.iter().map(|t| t.raw()).collect();
        // SAFETY: types of the module's context, as many as there are.
        Type::new(unsafe { LLVMFunctionType(result.raw(), raw.as_mut_ptr(), raw.len() as u32, 0) })
    }

    /// Declares (or finds) a function.
    #[must_use]
    pub fn declare(self, name: &str, ty: Type<'m>) -> Value<'m> {
        self.function(name).unwrap_or_else(|| self.add_function(name, ty))
    }

    /// `ty` must be a function's.
    #[must_use]
    pub fn add_function(self, name: &str, ty: Type<'m>) -> Value<'m> {
        let name = c_name(name);
        // SAFETY: the borrowed module, a C string, which is copied, and a function type of the module's context.
        Value::new(unsafe { LLVMAddFunction(self.raw(), name.as_ptr(), ty.raw()) })
    }

    /// Adds a function attribute without value.
    pub fn attribute(self, function: Value<'m>, name: &str) {
        let raw = function.checked(function.is_function());
        // SAFETY: the module's context, and a kind that LLVM has told.
        let attribute = unsafe { LLVMCreateEnumAttribute(self.context(), AttributeKind::named(name).0, 0) };
        // SAFETY: a function of the module, and an attribute of its context.
        unsafe { LLVMAddAttributeAtIndex(raw, LLVMAttributeFunctionIndex, attribute) };
    }

    fn global(self, name: &str) -> Option<Value<'m>> {
        let name = c_name(name);
        // SAFETY: the borrowed module, and a C string.
        Value::maybe(unsafe { LLVMGetNamedGlobal(self.raw(), name.as_ptr()) })
    }

    fn add_global(self, name: &str, ty: Type<'m>) -> Value<'m> {
        let name = c_name(name);
        // SAFETY: the borrowed module, a type of its context, and a C string, which is copied.
        Value::new(unsafe { LLVMAddGlobal(self.raw(), ty.raw(), name.as_ptr()) })
    }

    /// A global variable that starts with `value`.
    fn add_variable(self, name: &str, value: Value<'m>) -> Value<'m> {
        let global = self.add_global(name, value.ty());
        // SAFETY: a new variable of the constant's type.
        unsafe { LLVMSetInitializer(global.raw(), value.raw()) };
        global
    }

    /// A thread-local pointer with the initial-exec model, defined elsewhere.
    #[must_use]
    pub fn thread_local_pointer(self, name: &str) -> Value<'m> {
        self.global(name).unwrap_or_else(|| {
            let global = self.add_global(name, self.pointer_type());
            // SAFETY: a new variable.
            unsafe { LLVMSetThreadLocal(global.raw(), 1) };
            // SAFETY: as above.
            unsafe { LLVMSetThreadLocalMode(global.raw(), LLVMThreadLocalMode::LLVMInitialExecTLSModel) };
            global
        })
    }

    /// A private constant array of bytes, aligned to 8, in a section.
    #[must_use]
    pub fn bytes(self, name: &str, bytes: &[u8], section: &str) -> Value<'m> {
        // SAFETY: the module's context, and so many bytes, which are copied.
        let data = unsafe { LLVMConstStringInContext2(self.context(), bytes.as_ptr().cast(), bytes.len(), 1) };
        let global = self.add_variable(name, Value::new(data));
        // SAFETY: a new variable.
        unsafe { LLVMSetGlobalConstant(global.raw(), 1) };
        global.set_internal();
        // SAFETY: as above.
        unsafe { LLVMSetAlignment(global.raw(), 8) };
        global.set_section(section);
        global
    }

    /// A private variable of 64 bits that starts with 0.
    #[must_use]
    pub fn variable(self, name: &str) -> Value<'m> {
        let global = self.add_variable(name, self.constant(64, 0));
        global.set_internal();
        global
    }

    /// A private constant pointer in a section of its own (constructor tables).
    #[must_use]
    pub fn pointer_in_section(self, name: &str, target: Value<'m>, section: &str) -> Value<'m> {
        let global = self.add_variable(name, target);
        global.set_internal();
        // SAFETY: a new variable.
        unsafe { LLVMSetAlignment(global.raw(), 8) };
        global.set_section(section);
        global
    }

    /// Keeps globals without visible uses from being dropped: appends to `llvm.compiler.used`.
    pub fn keep(self, globals: &[Value<'m>]) {
        const USED: &str = "llvm.compiler.used";
        if globals.is_empty() {
            return;
        }
        let mut all: Vec<LLVMValueRef> = Vec::new();
        if let Some(old) = self.global(USED) {
            // SAFETY: a global variable.
            let list = Value::maybe(unsafe { LLVMGetInitializer(old.raw()) });
            all.extend(list.into_iter().flat_map(|list| (0..list.operands()).map(move |i| list.operand(i).raw())));
            // SAFETY: nothing uses this variable, and nobody has a handle of it: no wrapper gives one.
            unsafe { LLVMDeleteGlobal(old.raw()) };
        }
        all.extend(globals.iter().map(|g| g.raw()));
        // SAFETY: a type of the module's context and constants of that type, as many as there are.
        let list = unsafe { LLVMConstArray2(self.pointer_type().raw(), all.as_mut_ptr(), all.len() as u64) };
        let used = self.add_variable(USED, Value::new(list));
        // SAFETY: a new variable.
        unsafe { LLVMSetLinkage(used.raw(), LLVMLinkage::LLVMAppendingLinkage) };
        used.set_section("llvm.metadata");
    }

    /// A number as a constant of an integer type.
    #[must_use]
    pub fn constant(self, bits: u32, number: u64) -> Value<'m> {
        // SAFETY: an integer type.
        Value::new(unsafe { LLVMConstInt(self.int_type(bits).raw(), number, 0) })
    }

    /// Constant address `global + offset`.
    #[must_use]
    pub fn address_in(self, global: Value<'m>, offset: u64) -> Value<'m> {
        let mut index = [self.constant(64, offset).raw()];
        let raw = global.checked(global.is_constant());
        // SAFETY: a type with a size, a constant address, and one index.
        Value::new(unsafe { LLVMConstGEP2(self.int_type(8).raw(), raw, index.as_mut_ptr(), 1) })
    }

    #[must_use]
    pub fn append_block(self, function: Value<'m>, name: &str) -> Block<'m> {
        let name = c_name(name);
        let raw = function.checked(function.is_function());
        // SAFETY: the module's context, a function of the module, and a C string, which is copied.
        Block::new(unsafe { LLVMAppendBasicBlockInContext(self.context(), raw, name.as_ptr()) })
    }

    #[must_use]
    pub fn builder(self) -> Builder<'m> {
        Builder::new(self)
    }
}
