//! Numbers of the things that a profile lists.

use serde::{Deserialize, Serialize};

macro_rules! handle {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub u32);
        impl $name {
            /// The place in the list.
            #[must_use]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

handle!(/** Index into [`Profile::strings`](super::Profile::strings). */ StringId);
handle!(/** Index into [`Profile::functions`](super::Profile::functions). */ FunctionId);
handle!(/** Index into [`Profile::positions`](super::Profile::positions). */ PositionId);
handle!(/** Index into [`Profile::sites`](super::Profile::sites). */ SiteId);
handle!(/** Index into [`Profile::blocks`](super::Profile::blocks). */ BlockId);
handle!(/** Index into [`Profile::contexts`](super::Profile::contexts). */ ContextId);
handle!(/** Index into [`DataObjects::list`](super::DataObjects::list). */ ObjectId);
handle!(/** Index into [`SiteMetadata::fields`](super::SiteMetadata::fields). */ FieldId);
handle!(/** Index into [`SiteMetadata::loops`](super::SiteMetadata::loops). */ LoopId);
